// Tests the passes that make a graph smaller: each fires when it should and refuses when it must.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/text/text.h"
#include "ops/infer.h"
#include "simplify/passes_test_util.h"
#include "simplify/rewrite.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

struct Case {
  const char* text;
  const char* expected;
};

template <class Run>
void check(Run run, const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    Graph graph = graph_of(one.text);
    const std::size_t before = graph.nodes.size();
    const std::string text = print(graph);
    const auto changes = run(graph, PassContext{});
    ASSERT_TRUE(changes) << changes.error().to_string() << one.text;
    EXPECT_EQ(left_of(graph), one.expected) << one.text;
    EXPECT_EQ(*changes > 0, graph.nodes.size() < before) << one.text;
    EXPECT_EQ(*changes > 0, print(graph) != text) << one.text;
    const Status status = verify(graph, Stage::kSimplify);
    EXPECT_TRUE(status) << status.error().to_string() << one.text;
    EXPECT_TRUE(infer_graph(graph)) << one.text;
  }
}

TEST(DeadCode, DropsWhatReachesNoOutput) {
  check(dead_code, {{"input x f32 [2]\na = Relu(x)\nb = Neg(a)\ny = Abs(x)\noutput y", "Abs -> y"},
                    {"input x f32 [2]\na = Relu(x)\ny = Abs(a)\noutput y", "Relu Abs -> y"}});
}

TEST(DeadCode, KeepsUnusedInputsAndDropsUnusedConstants) {
  Graph graph = graph_of("input x f32 [2]\ninput z f32 [2]\nconst c f32 [1] = [1]\noutput x");
  ASSERT_TRUE(dead_code(graph, {}));
  EXPECT_EQ(graph.values.size(), 2U);
  EXPECT_EQ(graph.inputs.size(), 2U);
}

TEST(RemoveNoOps, Fires) {
  check(
      remove_no_ops,
      {{"input x f32 [2]\na = Relu(x)\ny = Identity(a)\noutput y", "Relu -> y"},
       {"input x f32 [2]\na = Identity(x)\ny = Relu(a)\noutput y", "Relu -> y"},
       {"input x f32 [2]\na = Identity(x)\nb = Identity(a)\ny = Relu(b)\noutput y", "Relu -> y"},
       {"input x f32 [2]\na = Cast(x) {to = 1}\ny = Relu(a)\noutput y", "Relu -> y"},
       {"symbols s\ninput x f32 [s, 4]\nconst p i64 [2] = [-1, 4]\na = Reshape(x, p)\n"
        "y = Relu(a)\noutput y",
        "Relu -> y"},
       {"symbols s\ninput x f32 [s, 4]\na = Transpose(x) {perm = [0, 1]}\ny = Relu(a)\noutput y",
        "Relu -> y"},
       {"symbols s\ninput x f32 [s, 4]\nconst b i64 [1] = [0]\n"
        "const e i64 [1] = [9223372036854775807]\na = Slice(x, b, e, b)\ny = Relu(a)\noutput y",
        "Relu -> y"},
       {"input x f32 [2]\na = Concat(x) {axis = 0}\ny = Relu(a)\noutput y", "Relu -> y"},
       {"symbols s\ninput x f32 [s]\nconst p i64 [2] = [0, 0]\na = Pad(x, p)\ny = Relu(a)\n"
        "output y",
        "Relu -> y"},
       {"symbols s\ninput x f32 [s]\nconst p i64 [1] = [1]\na = Tile(x, p)\ny = Relu(a)\noutput y",
        "Relu -> y"},
       {"symbols s\ninput x f32 [s]\nsymbolic p i64 [1] = [s]\na = Expand(x, p)\ny = Relu(a)\n"
        "output y",
        "Relu -> y"}});
}

TEST(RemoveNoOps, ACastLikeIsACast) {
  Graph graph =
      graph_of("input x f32 [2]\ninput t f16 [1]\ny = CastLike(x, t) {saturate = 0}\noutput y");
  EXPECT_EQ(remove_no_ops(graph, {}).value_or(-1), 1);
  ASSERT_TRUE(infer_graph(graph));
  EXPECT_EQ(operators_of(graph), "Cast");
  EXPECT_EQ(graph.values[graph.outputs[0]].dtype, DType::kF16);
}

TEST(RemoveNoOps, Refuses) {
  check(remove_no_ops,
        {// The user asked for these names.
         {"input x f32 [2]\ny = Identity(x)\noutput y", "Identity -> y"},
         {"input x f32 [2]\na = Relu(x)\ny = Identity(a)\noutput a, y", "Relu Identity -> a y"},
         {"const c f32 [2] = [1, 2]\ny = Identity(c)\noutput y", "Identity -> y"},
         {"input x f32 [2]\na = Cast(x) {to = 7}\ny = Abs(a)\noutput y", "Cast Abs -> y"},
         // Same shape, other elements.
         {"input x f32 [4, 4]\na = Transpose(x)\ny = Relu(a)\noutput y", "Transpose Relu -> y"},
         {"input x f32 [4]\nconst b i64 [1] = [-1]\nconst e i64 [1] = [-9]\nconst a i64 [1] = [0]\n"
          "r = Slice(x, b, e, a, b)\ny = Relu(r)\noutput y",
          "Slice Relu -> y"},
         {"input x f32 [4]\nconst p i64 [2] = [1, -1]\na = Pad(x, p)\ny = Relu(a)\noutput y",
          "Pad Relu -> y"},
         // s may be 1 and t not.
         {"symbols s t\ninput x f32 [s]\nsymbolic p i64 [1] = [t]\na = Expand(x, p)\n"
          "y = Relu(a)\noutput y",
          "Expand Relu -> y"}});
}

TEST(RemoveNoOps, BroadcastingNeedsNoExpand) {
  const std::string fixed =
      "input x f32 [2, 3]\ninput c f32 [2, 1]\nconst s i64 [2] = [2, 3]\ne = Expand(c, s)\n";
  const std::string free =
      "symbols n\ninput x f32 [4, n, 3]\ninput c f32 [3]\nsymbolic s i64 [2] = [n, 3]\n"
      "e = Expand(c, s)\n";
  check(remove_no_ops,
        {{(fixed + "y = Div(x, e)\noutput y").c_str(), "Div -> y"},
         {(fixed + "y = Div(e, x)\nz = Add(e, x)\noutput y, z").c_str(), "Div Add -> y z"},
         {(free + "y = Mul(x, e)\noutput y").c_str(), "Mul -> y"},
         {(fixed + "g = Expand(c, s)\ny = Add(e, g)\noutput y").c_str(), "Expand Add -> y"}});
}

TEST(RemoveNoOps, AnExpandThatGivesTheShapeStays) {
  check(remove_no_ops,
        {{"input x f32 [1, 3]\ninput c f32 [2, 1]\nconst s i64 [2] = [2, 3]\ne = Expand(c, s)\n"
          "y = Div(x, e)\noutput y",
          "Expand Div -> y"},
         {"input c f32 [2, 1]\nconst s i64 [2] = [2, 3]\ne = Expand(c, s)\ny = Div(e, e)\n"
          "output y",
          "Expand Div -> y"},
         {"input x f32 [3]\ninput c f32 [1]\nconst s i64 [2] = [2, 3]\ne = Expand(c, s)\n"
          "y = Div(x, e)\noutput y",
          "Expand Div -> y"},
         // The value of n is not known before it is bound, and n = 1 would change the shape.
         {"symbols n\ninput x f32 [n, 3]\ninput c f32 [2, 1]\nconst s i64 [2] = [2, 3]\n"
          "e = Expand(c, s)\ny = Mul(x, e)\noutput y",
          "Expand Mul -> y"},
         {"symbols n m\ninput x f32 [n]\ninput c f32 [1]\nsymbolic s i64 [1] = [m]\n"
          "e = Expand(c, s)\ny = Mul(x, e)\noutput y",
          "Expand Mul -> y"},
         {"input x f32 [2, 3]\ninput c f32 [2, 1]\nconst s i64 [2] = [2, 3]\ne = Expand(c, s)\n"
          "y = Concat(x, e) {axis = 0}\noutput y",
          "Expand Concat -> y"}});
}

TEST(FoldShapes, ShapeArithmeticVanishes) {
  Graph graph = graph_of(R"(symbols batch seq
input x f32 [batch, seq, 12]
const zero i64 [1] = [0]
const one i64 [1] = [1]
const heads i64 [2] = [3, 4]
s = Shape(x)
b = Gather(s, zero) {axis = 0}
n = Gather(s, one) {axis = 0}
to = Concat(b, n, heads) {axis = 0}
y = Reshape(x, to)
output y)");
  const auto changes = fold_shapes(graph, {});
  ASSERT_TRUE(changes);
  EXPECT_EQ(*changes, 4);
  EXPECT_EQ(left_of(graph), "Reshape -> y");
  EXPECT_TRUE(verify(graph, Stage::kSimplify));
  const Value& to = graph.values[graph.nodes[NodeId{0}].inputs[1]];
  EXPECT_EQ(to.kind, ValueKind::kSymbolic);
  EXPECT_EQ(to.name, "to");
}

TEST(FoldShapes, FixedShapesBecomeConstants) {
  Graph graph = graph_of("input x f32 [2, 3]\ny = Shape(x)\noutput y");
  ASSERT_TRUE(fold_shapes(graph, {}));
  EXPECT_EQ(left_of(graph), "-> y");
  const Value& y = graph.values[graph.outputs[0]];
  ASSERT_TRUE(y.constant);
  EXPECT_EQ(integers(*y.constant), (std::vector<std::int64_t>{2, 3}));
}

TEST(FoldShapes, RefusesWhatDependsOnValues) {
  check(fold_shapes,
        {{"input x f32 [4]\nn = NonZero(x)\ny = Shape(n)\noutput y", "NonZero Shape -> y"},
         {"input x i64 [4]\ny = Neg(x)\noutput y", "Neg -> y"}});
}

TEST(CommonSubexpressions, Fires) {
  check(common_subexpressions,
        {{"input x f32 [2]\na = Relu(x)\nb = Relu(x)\ny = Add(a, b)\noutput y", "Relu Add -> y"},
         {"input x f32 [2]\na = Relu(x)\nb = Relu(x)\nc = Neg(a)\nd = Neg(b)\ny = Add(c, "
          "d)\noutput y",
          "Relu Neg Add -> y"},
         {"input x f32 [2, 2]\nconst p i64 [1] = [4]\nconst q i64 [1] = [4]\na = Reshape(x, p)\n"
          "b = Reshape(x, q)\ny = Add(a, b)\noutput y",
          "Reshape Add -> y"},
         {"input x f32 [2]\na = Relu(x)\ny = Relu(x)\nb = Neg(a)\noutput y, b", "Relu Neg -> y b"},
         {"input x f32 [4]\na = NonZero(x)\nb = NonZero(x)\nc = Add(a, a)\nd = Add(b, b)\n"
          "y = Add(c, d)\noutput y",
          "NonZero Add Add -> y"}});
}

TEST(CommonSubexpressions, CountsConstantsThatAreKeptOnce) {
  Graph graph = graph_of(R"(input x f32 [2]
const c f32 [1] = [1]
const d f32 [1] = [1]
a = Add(x, c)
y = Mul(a, d)
output y)");
  EXPECT_EQ(common_subexpressions(graph, {}).value_or(-1), 1);
  EXPECT_EQ(left_of(graph), "Add Mul -> y");
  EXPECT_EQ(graph.nodes[NodeId{0}].inputs[1], graph.nodes[NodeId{1}].inputs[1]);
}

TEST(CommonSubexpressions, Refuses) {
  check(
      common_subexpressions,
      {{"input x f32 [2]\ny = Relu(x)\nz = Relu(x)\noutput y, z", "Relu Relu -> y z"},
       {"input x f32 [2]\ninput z f32 [2]\na = Relu(x)\nb = Relu(z)\ny = Add(a, b)\noutput y",
        "Relu Relu Add -> y"},
       {"input x f32 [2, 2]\na = Softmax(x) {axis = 0}\nb = Softmax(x) {axis = 1}\ny = Add(a, b)\n"
        "output y",
        "Softmax Softmax Add -> y"},
       {"input x f32 [2]\nconst c f32 [1] = [0.0]\nconst d f32 [1] = [-0.0]\na = Div(x, c)\n"
        "b = Div(x, d)\ny = Add(a, b)\noutput y",
        "Div Div Add -> y"}});
}

}  // namespace
}  // namespace parallax
