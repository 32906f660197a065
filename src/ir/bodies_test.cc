// Graphs inside nodes: their text, what the verifier says of them, and their symbols.
#include <gtest/gtest.h>

#include "ir/text/text.h"

namespace parallax {
namespace {

constexpr std::string_view kNested = R"(symbols n
data_symbols m
input c bool []
input x f32 [n, 2]
y: f32 [n, 2] = If(c; x, c) @choice
body
  outer_symbols "n'" = n
  input x f32 ["n'", 2]
  input c bool []
  z: f32 ["n'", 2] = If(c; x) @inner
  body
    outer_symbols "n'"
    data_symbols k
    input x f32 ["n'", 2]
    output x
  end
  body
    input x f32 [3, 2]
    output x
  end
  output z
end
body
  outer_symbols m n
  input x f32 [n, 2]
  input c bool []
  output x
end
output y
)";

TEST(Bodies, PrintAndParse) {
  const auto graph = parse_graph(kNested);
  ASSERT_TRUE(graph) << graph.error().to_string();
  const auto status = verify(*graph, Stage::kLoad);
  EXPECT_TRUE(status) << status.error().to_string();
  EXPECT_EQ(print(*graph), kNested);
}

TEST(Bodies, TextErrors) {
  for (const auto* text : {"body\nend", "end", "input x f32 []\ny = If(x)\nbody",
                           "input x f32 []\ny = If(x)\nbody\nouter_symbols n\nend",
                           "outer_symbols n", "input x f32 []\ny = If(x; x; x)"})
    EXPECT_FALSE(parse_graph(text)) << text;
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "input x f32 []\ny = If(x)\nbody\n";
  EXPECT_FALSE(parse_graph(deep));
}

TEST(Bodies, TheVerifierLooksInside) {
  const struct {
    void (*damage)(Node& node, Graph& body);
    const char* message;
  } cases[] = {
      {[](Node& node, Graph&) { node.captures = 9; }, "more captures than inputs"},
      {[](Node&, Graph& body) { body.inputs.pop_back(); }, "not in the list of inputs"},
      {[](Node&, Graph& body) { body.symbols[SymbolId{0}].outer = SymbolId{7}; },
       "does not exist outside"},
      {[](Node&, Graph& body) { body.symbols[SymbolId{0}].outer = SymbolId{}; },
       "stands for no symbol outside"},
      {[](Node&, Graph& body) { body.outputs.push_back(ValueId{99}); }, "does not exist"},
      {[](Node& node, Graph&) { node.inputs[1] = ValueId{}; }, "captures no value"},
  };
  for (const auto& c : cases) {
    Graph graph = *parse_graph(kNested);
    Node& node = graph.nodes[NodeId{0}];
    Graph body = *node.bodies[0];
    c.damage(node, body);
    node.bodies[0] = std::make_shared<const Graph>(std::move(body));
    const auto status = verify(graph, Stage::kLoad);
    ASSERT_FALSE(status) << c.message;
    EXPECT_NE(status.error().message.find(c.message), std::string::npos) << status.error().message;
  }
}

/// Both branches of an If whose condition is known are one graph: 2^60 paths lead to the innermost.
TEST(Bodies, AGraphThatIsBothBranchesIsCheckedOnce) {
  auto inner = std::make_shared<Graph>(*parse_graph("input c bool []\noutput c"));
  for (int depth = 0; depth < 60; ++depth) {
    Graph around = *parse_graph(
        "input c bool []\ny: bool [] = If(c; c)\nbody\ninput c bool []\noutput c\nend\n"
        "body\ninput c bool []\noutput c\nend\noutput y");
    around.nodes[NodeId{0}].bodies = {inner, inner};
    inner = std::make_shared<Graph>(std::move(around));
  }
  EXPECT_TRUE(verify(*inner, Stage::kLoad));
}

TEST(Substitute, ReplacesSymbolsEverywhere) {
  const Expr a = Expr::symbol(SymbolId{0}), b = Expr::symbol(SymbolId{1});
  const Expr e =
      a * a * Expr(3) + floor_div(a + b, Expr(2)) + max(b, Expr(4)) + mod(a, Expr(3)) + min(a, b);
  const auto swapped = substitute(e, [&](SymbolId id) { return id.value == 0 ? b : a; });
  const std::vector<std::optional<std::int64_t>> ab = {5, 11}, ba = {11, 5};
  EXPECT_EQ(swapped.evaluate(ab), e.evaluate(ba));
  EXPECT_EQ(substitute(e, [](SymbolId) { return Expr(6); }).constant(), 3 * 36 + 6 + 6 + 0 + 6);
  EXPECT_EQ(substitute(Expr(7), [](SymbolId) { return Expr(0); }), Expr(7));
}

}  // namespace
}  // namespace parallax
