// Tests sequences and optionals whose structure is known.
#include <gtest/gtest.h>

#include "simplify/passes_test_util.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

/// Returns the result of the pass for `text`: "Identity Split: float32 2x3".
std::string left_of(const std::string& text) {
  Graph graph = graph_of(text);
  const auto changes = static_objects(graph, PassContext{});
  EXPECT_TRUE(changes) << text;
  const Status valid = verify(graph, Stage::kSimplify);
  EXPECT_TRUE(valid) << valid.error().to_string() << text;
  const Value& output = graph.values[graph.outputs[0]];
  return operators_of(graph) + ": " + to_string(output.shape, graph.symbol_names());
}

TEST(StaticObjects, Disappear) {
  const std::string ab = "input a f32 [2, 3]\ninput b f32 [4, 3]\n";
  const std::string one = "const one i64 [] = [1]\nconst last i64 [] = [-1]\n";
  struct Row {
    std::string text, left;
  };
  for (const Row& row : std::vector<Row>{
           {ab + one + "s = SequenceConstruct(a, b)\ny = SequenceAt(s, last)\noutput y",
            "Identity: 4x3"},
           {ab + one +
                "e = SequenceEmpty()\ns = SequenceInsert(e, a)\nt = SequenceInsert(s, b, "
                "last)\ny = SequenceAt(t, one)\noutput y",
            "Identity: 2x3"},
           {ab + one +
                "s = SequenceConstruct(a, b)\nt = SequenceErase(s, last)\ny = "
                "SequenceLength(t)\noutput y",
            ": scalar"},
           {ab + "s = SequenceConstruct(a, b)\ny = ConcatFromSequence(s) {axis = 0}\noutput y",
            "Concat: 6x3"},
           {ab + "s = SequenceConstruct(a, a)\ny = ConcatFromSequence(s) {axis = -1, new_axis = "
                 "1}\noutput y",
            "Unsqueeze Unsqueeze Concat: 2x3x2"},
           {ab + one + "s = SplitToSequence(b, one)\ny = SequenceAt(s, one)\noutput y",
            "Split Identity: 1x3"},
           {ab + one + "s = SplitToSequence(b) {keepdims = 0}\ny = SequenceAt(s, one)\noutput y",
            "Split Squeeze Identity: 3"},
           {ab + "o = Optional(a)\ny = OptionalGetElement(o)\noutput y", "Identity: 2x3"},
           {ab + "y = OptionalHasElement(a)\noutput y", ": scalar"}}) {
    EXPECT_EQ(left_of(row.text), row.left) << row.text;
  }
}

TEST(StaticObjects, StayWhereTheyAreNotKnown) {
  const std::string inputs = "input a f32 [2]\ninput p i64 []\ninput s sequence f32 [2]\n";
  const std::string far = "const far i64 [] = [2]\n";
  EXPECT_EQ(left_of(inputs + "t = SequenceConstruct(a, a)\ny = SequenceAt(t, p)\noutput y"),
            "SequenceConstruct SequenceAt: 2");
  EXPECT_EQ(left_of(inputs + "y = SequenceAt(s, p)\noutput y"), "SequenceAt: 2");
  EXPECT_EQ(left_of(inputs + far + "t = SequenceConstruct(a, a)\ny = SequenceAt(t, far)\noutput y"),
            "SequenceConstruct SequenceAt: 2");
}

}  // namespace
}  // namespace parallax
