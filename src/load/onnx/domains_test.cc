// Tests the nodes that operators of other domains, and those that the graph lacks, become.
#include <gtest/gtest.h>

#include "load/onnx/normalize/normalize.h"
#include "load/onnx_test_util.h"

namespace parallax {
namespace {

using protozero::pbf_writer;

struct Parts {
  const char* name;
  std::string domain;
  std::string node;
  const char* kinds;  ///< kinds of the nodes, or a part of the message
  Names initializers = {};
  std::vector<Dim> x = {Dim("n"), Dim(4), Dim(6)};
  int type = kOnnxFloat;
  std::int64_t opset = 21;
};

void PrintTo(const Parts& parts, std::ostream* out) { *out << parts.name; }

Result<Graph> load_parts(const Parts& parts) {
  const TestGraph graph{
      {parts.node}, parts.initializers, {value_info("x", parts.type, parts.x)}, {value_info("y")}};
  std::string bytes = model(graph, parts.opset);
  if (!parts.domain.empty())
    bytes += message([&](pbf_writer& w) { w.add_message(8, opset_import(1, parts.domain)); });
  return load(bytes);
}

std::string kinds_of(const Graph& graph) {
  std::string kinds;
  for (const Node& node : graph.nodes)
    kinds += (kinds.empty() ? "" : " ") + std::string(to_string(node.op));
  return kinds;
}

class Domains : public testing::TestWithParam<Parts> {};

TEST_P(Domains, BecomeOperatorsOfTheGraph) {
  const auto graph = load_parts(GetParam());
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(kinds_of(*graph), GetParam().kinds);
}

constexpr const char* kMs = "com.microsoft";
constexpr const char* kMl = "ai.onnx.ml";

std::string ms(const char* op, const Names& inputs, const Names& attributes = {}) {
  return node(op, inputs, {"y"}, attributes, "n", kMs);
}
std::string ml(const char* op, const Names& inputs, const Names& attributes = {}) {
  return node(op, inputs, {"y"}, attributes, "n", kMl);
}

const std::string kScale = float_tensor("s", {6}, std::vector<float>(6, 1));
const std::vector<Dim> kMatrix = {Dim("n"), Dim(6)};
const std::vector<Dim> kImages = {Dim("n"), Dim(8), Dim(8), Dim(1)};

/// scores + bias, the bias of the body or from outside.
std::string score_bias(const Names& initializers, const char* bias) {
  const TestGraph body{
      {node("Add", {"in", bias}, {"out"})}, initializers, {value_info("in")}, {value_info("out")}};
  return node("FlexAttention", {"x", "x", "x"}, {"y"}, {graph_attribute("score_mod", body.bytes())},
              "n", "ai.onnx.preview");
}

const Parts kParts[] = {
    {"FlexAttention",
     "ai.onnx.preview",
     node("FlexAttention", {"x", "x", "x"}, {"y"}, {}, "n", "ai.onnx.preview"),
     "Transpose MatMul Mul Softmax MatMul Identity",
     {},
     {Dim("n"), Dim(2), Dim(3), Dim(4)}},
    {"FlexAttentionWithAGraph",
     "ai.onnx.preview",
     score_bias({float_tensor("b", {}, {1})}, "b"),
     "Transpose MatMul Mul Identity Add Softmax Identity MatMul Identity",
     {},
     {Dim("n"), Dim(2), Dim(3), Dim(4)}},
    {"FlexAttentionThatReadsOutside",
     "ai.onnx.preview",
     score_bias({}, "w"),
     "Transpose MatMul Mul Identity Add Softmax Identity MatMul Identity",
     {float_tensor("w", {}, {1})},
     {Dim("n"), Dim(2), Dim(3), Dim(4)}},
    {"Sum", "", node("Sum", {"x", "x", "x"}, {"y"}), "Add Add"},
    {"SumOfOne", "", node("Sum", {"x"}, {"y"}), "Identity"},
    {"Mean", "", node("Mean", {"x", "x"}, {"y"}), "Add Div"},
    {"Swish", "", node("Swish", {"x"}, {"y"}), "Sigmoid Mul Identity", {}, kMatrix, kOnnxFloat, 24},
    {"MeanVariance", "",
     node("MeanVarianceNormalization", {"x"}, {"y"}, {attribute("axes", Ints{0, 1})}),
     "ReduceMean Sub Mul ReduceMean Sqrt Add Div"},
    {"UnsqueezeComputedAxes",
     "",
     node("Unsqueeze", {"x", "x"}, {"y"}),
     "Less Add Where Reshape Reshape Equal Cast ReduceMax Sub Reshape Mul ReduceSum Shape Cast "
     "Where Concat Gather Reshape",
     {},
     {Dim(1)},
     kOnnxInt64},
    {"SqueezeComputedAxes",
     "",
     node("Squeeze", {"x", "x"}, {"y"}),
     "Less Add Where Reshape Reshape Equal Cast ReduceMax Sub Reshape Mul ReduceSum Shape Reshape "
     "Equal Cast Mul Mul ReduceSum Reshape",
     {},
     {Dim(1)},
     kOnnxInt64},
    {"CenterCropPad",
     "",
     node("CenterCropPad", {"x", "c"}, {"y"}, {attribute("axes", Ints{-1})}),
     "Shape Gather Sub Max Div Sub Concat Pad Sub Max Div Add Slice",
     {int_tensor("c", {3})}},
    {"AffineGrid",
     "",
     node("AffineGrid", {"x", "c"}, {"y"}),
     "Slice Slice Reshape Range Cast Cast Mul Add Div Add Reshape Concat Expand Slice Reshape "
     "Range Cast Cast Mul Add Div Add Reshape Concat Expand Concat Expand Concat Reshape "
     "Transpose MatMul Slice Concat Reshape",
     {int_tensor("c", {1, 1, 4, 6})},
     {Dim(1), Dim(2), Dim(3)}},
    {"FusedConv",
     kMs,
     ms("FusedConv", {"x", "w"}, {attribute("activation", "Relu")}),
     "Conv Relu Identity",
     {float_tensor("w", {2, 1, 3, 3}, std::vector<float>(18))},
     {Dim("n"), Dim(1), Dim(8), Dim(8)}},
    {"NhwcConv",
     kMs,
     ms("NhwcConv", {"x", "w"}),
     "Transpose Conv Transpose Identity",
     {float_tensor("w", {2, 1, 3, 3}, std::vector<float>(18))},
     kImages},
    {"FusedMatMul", kMs,
     ms("FusedMatMul", {"x", "x"}, {attribute("transB", 1), attribute("alpha", 0.5F)}),
     "Transpose MatMul Mul"},
    {"FusedGemm",
     kMs,
     ms("FusedGemm", {"x", "x"}, {attribute("transA", 1), attribute("activation", "Tanh")}),
     "Gemm Tanh Identity",
     {},
     {Dim(3), Dim(3)}},
    {"FastGelu", kMs, ms("FastGelu", {"x", "s"}), "Add Gelu", {kScale}},
    {"QuickGelu", kMs, ms("QuickGelu", {"x"}), "Mul Sigmoid Mul"},
    {"SkipLayerNormalization",
     kMs,
     ms("SkipLayerNormalization", {"x", "x", "s"}),
     "Add LayerNormalization",
     {kScale}},
    {"Attention",
     kMs,
     ms("Attention", {"x", "w"}, {attribute("num_heads", 2)}),
     "MatMul Split Reshape Transpose Reshape Transpose Reshape Transpose Transpose MatMul Mul "
     "Softmax MatMul Transpose Reshape Identity",
     {float_tensor("w", {6, 12}, std::vector<float>(72))}},
    {"MultiHeadAttention", kMs,
     ms("MultiHeadAttention", {"x", "x", "x"}, {attribute("num_heads", 3)}),
     "Reshape Transpose Reshape Transpose Reshape Transpose Transpose MatMul Mul Softmax MatMul "
     "Transpose Reshape Identity"},
    {"Scaler",
     kMl,
     ml("Scaler", {"x"},
        {attribute("offset", std::vector<float>{1}), attribute("scale", std::vector<float>{2})}),
     "Sub Mul Identity",
     {},
     kMatrix},
    {"ScalerOfIntegers",
     kMl,
     ml("Scaler", {"x"}, {attribute("scale", std::vector<float>{2})}),
     "Cast Mul Identity",
     {},
     kMatrix,
     kOnnxInt64},
    {"Binarizer", kMl, ml("Binarizer", {"x"}), "Greater Cast Identity", {}, kMatrix},
    {"Normalizer",
     kMl,
     ml("Normalizer", {"x"}, {attribute("norm", "L1")}),
     "Abs ReduceSum Equal Where Div",
     {},
     kMatrix},
    {"LinearClassifier",
     kMl,
     ml("LinearClassifier", {"x"},
        {attribute("coefficients", std::vector<float>(12)),
         attribute("intercepts", std::vector<float>(2)),
         attribute("classlabels_ints", Ints{3, 4})}),
     "Gemm ArgMax Gather",
     {},
     kMatrix},
};

INSTANTIATE_TEST_SUITE_P(Onnx, Domains, testing::ValuesIn(kParts),
                         [](const auto& c) { return c.param.name; });

class BadDomains : public testing::TestWithParam<Parts> {};

TEST_P(BadDomains, AreRefused) {
  const auto graph = load_parts(GetParam());
  ASSERT_FALSE(graph) << kinds_of(*graph);
  EXPECT_NE(graph.error().to_string().find(GetParam().kinds), std::string::npos)
      << graph.error().to_string();
}

/// A tree of one inner node, its branches `if_true` and `if_false`, whose leaves vote for target 0.
std::string tree(std::int64_t if_true, std::int64_t if_false, const char* mode = "BRANCH_LEQ") {
  const std::string modes = attribute_head("nodes_modes", 8) + message([&](pbf_writer& w) {
                              w.add_string(9, mode);
                              w.add_string(9, "LEAF");
                              w.add_string(9, "LEAF");
                            });
  return ml(
      "TreeEnsembleRegressor", {"x"},
      {attribute("nodes_treeids", Ints{0, 0, 0}), attribute("nodes_nodeids", Ints{0, 1, 2}),
       attribute("nodes_featureids", Ints{0, 0, 0}),
       attribute("nodes_values", std::vector<float>(3)),
       attribute("nodes_truenodeids", Ints{if_true, 0, 0}),
       attribute("nodes_falsenodeids", Ints{if_false, 0, 0}), modes,
       attribute("target_treeids", Ints{0, 0}), attribute("target_nodeids", Ints{1, 2}),
       attribute("target_ids", Ints{0, 0}), attribute("target_weights", std::vector<float>{1, 2})});
}

const Parts kBad[] = {
    {"NotOfThatDomain", kMs, ms("Relu", {"x"}), "Relu (com.microsoft opset 1) x1"},
    {"NotOfAiOnnx", "", node("Scaler", {"x"}, {"y"}), "Scaler (ai.onnx opset 21) x1"},
    {"NotImported", "", ms("Gelu", {"x"}), "Gelu (com.microsoft not imported) x1"},
    {"UnknownAttribute", kMs, ms("QuickGelu", {"x"}, {attribute("beta", 1.0F)}), "'beta'"},
    {"MissingInput", kMs, ms("BiasGelu", {"x"}), "input 1 is missing"},
    {"UnknownActivation",
     kMs,
     ms("FusedGemm", {"x", "x"}, {attribute("activation", "Sine")}),
     "'Sine'",
     {},
     {Dim(3), Dim(3)}},
    {"NoHeads",
     kMs,
     ms("Attention", {"x", "w"}),
     "num_heads",
     {float_tensor("w", {6, 12}, std::vector<float>(72))}},
    {"CoefficientsThatDoNotFit",
     kMl,
     ml("LinearRegressor", {"x"},
        {attribute("coefficients", std::vector<float>(5)), attribute("targets", 2)}),
     "do not fit",
     {},
     kMatrix},
    {"NodeThatIsMissing", kMl, tree(1, 7), "node 7 of tree 0 does not exist", {}, kMatrix},
    {"NodeOnACycle", kMl, tree(1, 0), "reached twice", {}, kMatrix},
    {"UnknownMode", kMl, tree(1, 2, "BRANCH_UP"), "'BRANCH_UP'", {}, kMatrix},
};

INSTANTIATE_TEST_SUITE_P(Onnx, BadDomains, testing::ValuesIn(kBad),
                         [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace parallax
