#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lower/patterns/patterns.h"
#include "ops/chain.h"
#include "simplify/passes_test_util.h"

namespace parallax {
namespace {

/// "Conv [Mul Tanh](2) Exp": a chain of two outputs between two nodes.
std::string with_chains(const Graph& graph) {
  return texts_of(graph, [](const Node& node) {
    if (node.op != OpKind::kElementwiseChain) return std::string(to_string(node.op));
    const std::size_t results = node.outputs.size();
    return chain_text(node) + (results > 1 ? "(" + std::to_string(results) + ")" : "");
  });
}

struct ChainCase {
  const char* name;
  std::string text;
  const char* after;
};
void PrintTo(const ChainCase& row, std::ostream* out) { *out << row.name; }

const std::string kInputs =
    "symbols s\ninput x f32 [2, s]\ninput r f32 [s]\ninput m f32 [4, 4]\ninput i i64 [2, s]\n";

const std::vector<ChainCase> kCases = {
    {"Alone", kInputs + "y = Exp(x)\noutput y", "Exp"},
    {"Line", kInputs + "a = Mul(x, r)\nb = Tanh(a)\ny = Clip(b, _, _)\noutput y",
     "[Mul Tanh Clip]"},
    {"Types", kInputs + "a = Cast(i) {to = 1}\nb = Greater(a, x)\ny = Where(b, a, r)\noutput y",
     "[Cast Greater Where]"},
    {"Diamond", kInputs + "a = Exp(x)\nb = Neg(a)\nc = Abs(a)\ny = Add(b, c)\noutput y",
     "[Exp Neg Abs Add]"},
    {"ReadOutside", kInputs + "a = Exp(x)\ny = Neg(a)\nz = Softmax(a)\noutput y, z",
     "[Exp Neg](2) Softmax"},
    {"ResultIsOutput", kInputs + "a = Exp(x)\ny = Neg(a)\noutput y, a", "[Exp Neg](2)"},
    {"OtherShape", kInputs + "a = Exp(r)\ny = Add(x, a)\noutput y", "Exp Add"},
    // Softmax reads what is made before Add, which reads Softmax.
    {"Around", kInputs + "a = Exp(x)\nb = Softmax(a)\ny = Add(a, b)\noutput y", "Exp Softmax Add"},
    // Only the chain waits for Softmax.
    {"Late", kInputs + "a = Exp(x)\nb = Softmax(x)\ny = Add(a, b)\noutput y", "Softmax [Exp Add]"},
    // Softmax(a) would wait for Softmax(x).
    {"WouldWait",
     kInputs + "a = Exp(x)\nb = Softmax(a)\nc = Softmax(x)\ny = Add(a, c)\noutput y, b",
     "Exp Softmax Softmax Add"},
    {"TwoJoin",
     kInputs + "a = Exp(x)\nb = Neg(a)\nc = Mul(x, x)\nd = Abs(c)\ny = Add(b, d)\noutput y",
     "[Exp Neg Mul Abs Add]"},
    {"TwoChains",
     kInputs + "a = Exp(x)\nb = Neg(a)\nc = Softmax(b)\nd = Add(c, b)\ny = Abs(d)\noutput y",
     "[Exp Neg] Softmax [Add Abs]"},
    {"Epilogue",
     "input m f32 [4, 4]\nconst w f32 [4, 4] = fill 1\na = MatMul(m, w) then Relu\nb = Exp(a)\n"
     "y = Neg(b)\noutput y",
     "MatMul [Exp Neg]"},
};

class FuseChainTest : public testing::TestWithParam<ChainCase> {};

TEST_P(FuseChainTest, MakesChains) {
  expect_rewrite(GetParam().text, fuse_chain, with_chains, GetParam().after);
}

INSTANTIATE_TEST_SUITE_P(Cases, FuseChainTest, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(FuseChain, MakesNoNodeThatADetourNeedsAndGivesTo) {
  struct Row {
    const char* text;
    std::vector<Detour> detours;  ///< from outputs, to inputs: 1 is g, 2 is h
    const char* after;
  };
  const std::string inputs = "input x f32 [8]\ninput g f32 [8]\ninput h f32 [8]\n";
  const Row rows[] = {
      // A detour computes g from a: the chain would compute a but needs g.
      {"a = Exp(x)\ny = Add(a, g)\noutput y, a", {{{1}, {1}, {}}}, "Exp Add"},
      {"a = Exp(x)\ny = Add(a, g)\noutput y, a", {{{1}, {2}, {}}}, "[Exp Add](2)"},
      {"a = Exp(x)\ny = Add(a, g)\noutput y, a", {{{}, {1}, {}}}, "[Exp Add](2)"},
      // a is in it alone.
      {"a = Exp(x)\ny = Add(a, g)\noutput y", {{{}, {1}, {}}}, "[Exp Add]"},
      // h depends on a, and g on h.
      {"a = Exp(x)\ny = Add(a, g)\noutput y, a", {{{}, {1}, {1}}, {{1}, {2}, {}}}, "Exp Add"},
      // h depends on a, and g on results of h in the graph.
      {"a = Exp(x)\nb = Softmax(h)\ny = Add(a, g)\noutput y, a, b",
       {{{2}, {1}, {}}, {{1}, {2}, {}}},
       "Exp Softmax Add"},
      {"b = Softmax(h)\na = Exp(x)\ny = Add(a, b)\noutput y, a",
       {{{1}, {2}, {}}},
       "Softmax Exp Add"},
      // g depends on a: nodes that only read g may be fused.
      {"a = Exp(x)\nb = Neg(g)\ny = Add(a, b)\noutput y, a, b",
       {{{1}, {1}, {}}},
       "Exp [Neg Add](2)"},
  };
  for (const Row& row : rows) {
    Graph graph = graph_of(inputs + row.text);
    PassContext context;
    context.detours = row.detours;
    EXPECT_TRUE(fuse_chain(graph, context));
    EXPECT_EQ(with_chains(graph), row.after) << row.text;
  }
}

TEST(FuseChain, CutsLongOnes) {
  std::string text = "input x f32 [8]\ny0 = Exp(x)\n";
  constexpr int kNodes = 150;
  for (int i = 1; i < kNodes; ++i)
    text += "y" + std::to_string(i) + " = Neg(y" + std::to_string(i - 1) + ")\n";
  Graph graph = graph_of(text + "output y" + std::to_string(kNodes - 1));
  EXPECT_EQ(fuse_chain(graph, {}).value_or(0), kNodes);
  EXPECT_EQ(graph.nodes.size(), 3U);
}

TEST(FuseChain, ReadsAValueOnce) {
  Graph graph = graph_of("input x f32 [8]\na = Mul(x, x)\ny = Add(a, x)\noutput y");
  ASSERT_TRUE(fuse_chain(graph, {}));
  EXPECT_EQ(graph.nodes[NodeId{0}].inputs.size(), 1U);
}

}  // namespace
}  // namespace parallax
