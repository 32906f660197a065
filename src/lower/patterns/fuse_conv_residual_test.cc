#include <gtest/gtest.h>

#include <string>

#include "lower/patterns/patterns.h"
#include "simplify/passes_test_util.h"

namespace parallax {
namespace {

/// "Conv+r[Relu]": the operators in order, with the residual and the activation of a convolution.
std::string with_residuals(const Graph& graph) {
  return texts_of(graph, [&](const Node& node) {
    const bool adds = node.op == OpKind::kConv && node.inputs.size() == 4;
    const Activation& activation = node.epilogue.activation;
    return std::string(to_string(node.op)) + (adds ? "+" + graph.values[node.inputs[3]].name : "") +
           (activation ? "[" + std::string(to_string(activation.op)) + "]" : "");
  });
}

struct ConvResidualCase {
  const char* name;
  std::string text;
  const char* after;
};

void PrintTo(const ConvResidualCase& row, std::ostream* out) { *out << row.name; }

const std::string kValues =
    "symbols h\ninput x f32 [1, h, 5, 8]\ninput r f32 [1, h, 5, 8]\n"
    "input row f32 [1, 1, 5, 8]\nconst w f32 [8, 8, 1, 1] = fill 0.5\nconst b f32 [8] = fill 2\n"
    "const w3 f32 [8, 8, 3, 3] = fill 0.5\nconst wg f32 [8, 4, 1, 1] = fill 0.5\n";
const std::string kConvolved = kValues + "c = Conv(x, w, b) {layout = \"NHWC\"}\n";

const ConvResidualCase kConvResidualCases[] = {
    {"Sum", kConvolved + "y = Add(c, r)\noutput y", "Conv+r"},
    {"Reversed", kConvolved + "y = Add(r, c)\noutput y", "Conv+r"},
    {"OfItsImage", kConvolved + "y = Add(c, x)\noutput y", "Conv+x"},
    {"WithoutBias", kValues + "c = Conv(x, w) {layout = \"NHWC\"}\ny = Add(c, r)\noutput y",
     "Conv+r"},
    {"Activated", kConvolved + "s = Add(c, r)\ny = Relu(s)\noutput y", "Conv+r[Relu]"},
    {"ActivatedAlpha", kConvolved + "s = Add(c, r)\ny = LeakyRelu(s) {alpha = 0.5}\noutput y",
     "Conv+r[LeakyRelu]"},
    {"ActivationThatProductsLack",
     kConvolved + "s = Add(c, r)\ny = Gelu(s) {approximate = \"tanh\"}\noutput y", "Conv+r Gelu"},
    {"SumReadTwice", kConvolved + "s = Add(c, r)\ny = Relu(s)\noutput y, s", "Conv+r Relu"},
    {"SumIsSlope", kConvolved + "s = Add(c, r)\ny = PRelu(r, s)\noutput y", "Conv+r PRelu"},
    {"Line",
     "input x f32 [2, 5, 8]\nconst w f32 [8, 8, 1] = fill 1\nc = Conv(x, w) {layout = \"NHWC\"}\n"
     "y = Add(c, x)\noutput y",
     "Conv+x"},
    {"InARow",
     kConvolved + "s = Add(c, r)\nd = Conv(s, w) {layout = \"NHWC\"}\nt = Add(s, d)\n"
                  "y = Relu(t)\noutput y",
     "Conv+r Conv+s[Relu]"},
    {"OfTwoConvolutions",
     kConvolved + "d = Conv(r, w) {layout = \"NHWC\"}\ny = Add(c, d)\noutput y", "Conv Conv+c"},
    {"OfTwoConvolutionsOneOf3x3",
     kConvolved + "d = Conv(r, w3) {layout = \"NHWC\", pads = [1, 1, 1, 1]}\ny = Add(c, d)\n"
                  "output y",
     "Conv Conv+d"},
    {"Itself", kConvolved + "y = Add(c, c)\noutput y", "Conv Add"},
    {"ReadByOthers", kConvolved + "y = Add(c, r)\nz = Neg(c)\noutput y, z", "Conv Add Neg"},
    {"IsOutput", kConvolved + "y = Add(c, r)\noutput y, c", "Conv Add"},
    {"Broadcast", kConvolved + "y = Add(c, row)\noutput y", "Conv Add"},
    {"Constant", kConvolved + "const k f32 [1, 1, 1, 8] = fill 1\ny = Add(c, k)\noutput y",
     "Conv Add"},
    {"ConstantImage",
     "input x f32 [1, 2, 5, 8]\nconst k f32 [1, 2, 5, 8] = fill 1\n"
     "const w f32 [8, 8, 1, 1] = fill 1\nc = Conv(x, w) {layout = \"NHWC\"}\ny = Add(c, k)\n"
     "output y",
     "Conv Add"},
    {"Activation",
     kValues + "c = Conv(x, w) {layout = \"NHWC\"} then Relu\ny = Add(c, r)\noutput y",
     "Conv[Relu] Add"},
    {"Difference", kConvolved + "y = Sub(r, c)\noutput y", "Conv Sub"},
    {"Wide",
     kValues + "c = Conv(x, w3) {layout = \"NHWC\", pads = [1, 1, 1, 1]}\ny = Add(c, r)\noutput y",
     "Conv Add"},
    {"Grouped", kValues + "c = Conv(x, wg) {layout = \"NHWC\", group = 2}\ny = Add(c, r)\noutput y",
     "Conv Add"},
    {"Strided",
     "input x f32 [1, 1, 1, 8]\nconst w f32 [8, 8, 1, 1] = fill 1\n"
     "c = Conv(x, w) {layout = \"NHWC\", strides = [2, 2]}\ny = Add(c, x)\noutput y",
     "Conv Add"},
    {"Padded",
     "input x f32 [1, 2, 2, 8]\ninput r f32 [1, 4, 4, 8]\nconst w f32 [8, 8, 1, 1] = fill 1\n"
     "c = Conv(x, w) {layout = \"NHWC\", pads = [1, 1, 1, 1]}\ny = Add(c, r)\noutput y",
     "Conv Add"},
    {"Planes",
     "input x f32 [1, 8, 2, 2]\nconst w f32 [8, 8, 1, 1] = fill 1\nc = Conv(x, w)\n"
     "y = Add(c, x)\noutput y",
     "Conv Add"},
    {"ComputedWeights",
     "input x f32 [1, 2, 2, 8]\ninput w f32 [8, 8, 1, 1]\nc = Conv(x, w) {layout = \"NHWC\"}\n"
     "y = Add(c, x)\noutput y",
     "Conv Add"},
    {"ThreeSpatialAxes",
     "input x f32 [1, 2, 2, 2, 8]\nconst w f32 [8, 8, 1, 1, 1] = fill 1\n"
     "c = Conv(x, w) {layout = \"NHWC\"}\ny = Add(c, x)\noutput y",
     "Conv Add"},
};

class FuseConvResidual : public testing::TestWithParam<ConvResidualCase> {};

TEST_P(FuseConvResidual, FiresExactlyWhereItMay) {
  const ConvResidualCase& row = GetParam();
  expect_rewrite(row.text, fuse_conv_residual, with_residuals, row.after);
}

INSTANTIATE_TEST_SUITE_P(Table, FuseConvResidual, testing::ValuesIn(kConvResidualCases),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(FuseConvResidualMisses, NameTheGuardThatRefused) {
  const NearMissCase rows[] = {
      {fuse_conv_residual, kConvolved + "y = Add(c, r) @last\noutput y, c",
       "something else reads the convolution"},
      {fuse_conv_residual, kConvolved + "y = Add(row, c) @last\noutput y",
       "what is added has another shape"},
      {fuse_conv_residual,
       kValues + "c = Conv(x, wg) {layout = \"NHWC\", group = 2}\ny = Add(c, r) @last\noutput y",
       "only filters of 1x1 on NHWC add it"},
  };
  expect_near_misses(rows);
}

TEST(FuseConvResidual, LeavesConvolutionsOfFilesWithThreeInputs) {
  const auto graph = parse_graph(kValues + "y = Conv(x, w, b, r) {layout = \"NHWC\"}\noutput y");
  ASSERT_TRUE(graph);
  const Node& node = graph->nodes[NodeId{0}];
  EXPECT_TRUE(check_node(node, NodeOrigin::kPass));
  EXPECT_FALSE(check_node(node, NodeOrigin::kLoader));
  EXPECT_FALSE(check_node(node, NodeOrigin::kFile));
}

}  // namespace
}  // namespace parallax
