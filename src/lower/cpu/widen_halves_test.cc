#include <gtest/gtest.h>

#include "lower/cpu/lower.h"
#include "simplify/passes_test_util.h"

namespace parallax {
namespace {

TEST(WidenHalves, CastsWhereSomethingElseReads) {
  const struct {
    std::string text, operators;
  } rows[] = {
      {"input x f16 [2, 3]\nconst w f16 [3, 4] = fill 0.5\ny = MatMul(x, w)\nz = Relu(y)\noutput z",
       "Cast MatMul Relu Cast"},
      {"input x bf16 [2]\ny = Exp(x)\nz = Relu(y)\noutput y, z", "Cast Exp Relu Cast Cast"},
      // A comparison reads the value after rounding.
      {"input x f16 [2]\ny = Exp(x)\nz = Less(y, x)\noutput z", "Cast Exp Cast Less"},
      {"input x f16 [2]\ny = Exp(x)\nz = Cast(y) {to = 1}\noutput z", "Cast Exp Cast Cast"},
      // Few rows of a table are read.
      {"const t f16 [9, 2] = fill 1\ninput i i64 [3]\nr = Gather(t, i)\ny = Exp(r)\noutput y",
       "Gather Cast Exp Cast"},
      {"input x f32 [2]\ninput d f64 [2]\ny = Exp(x)\nz = Exp(d)\noutput y, z", "Exp Exp"},
      {"input s i64 [1]\nc = ConstantOfShape(s) {value = tensor f16 [1] [0.5]}\noutput c",
       "ConstantOfShape"},
      {"input x f16 [2]\noutput x", ""},
  };
  for (const auto& row : rows) expect_rewrite(row.text, widen_halves, operators_of, row.operators);
}

TEST(WidenHalves, KeepsTypesOfOutputs) {
  Graph graph = graph_of("input x f16 [2]\ny = Relu(x)\noutput y");
  ASSERT_TRUE(widen_halves(graph, {}));
  EXPECT_EQ(graph.values[graph.outputs[0]].dtype, DType::kF16);
  EXPECT_EQ(graph.values[graph.outputs[0]].name, "y");
}

TEST(WidenHalves, SaysOfWeightsThatTheyWereF16) {
  for (const bool half : {true, false}) {
    const std::string type = half ? "f16" : "bf16";
    Graph graph = graph_of("input x " + type + " [2, 3]\nconst w " + type +
                           " [3, 4] = fill 0.5\ny = MatMul(x, w)\noutput y");
    ASSERT_TRUE(widen_halves(graph, {}));
    for (const Node& node : graph.nodes) {
      if (node.op != OpKind::kMatMul) continue;
      EXPECT_EQ(graph.values[node.inputs[1]].constant->is_half, half);
    }
  }
}

}  // namespace
}  // namespace parallax
