// Tests the nodes that the quantised operators of com.microsoft become.
#include <gtest/gtest.h>

#include "load/onnx_test_util.h"
#include "ops/op.h"

namespace parallax {
namespace {

std::string byte_tensor(std::string_view name, const Ints& dims, char element) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return raw_tensor(name, kOnnxInt8, dims, std::string(static_cast<std::size_t>(count), element));
}

Result<Graph> load_quantised(const std::string& op, const Names& inputs, const Names& attributes,
                             int type) {
  const TestGraph graph{{node(op, inputs, {"y"}, attributes, "n", "com.microsoft")},
                        {float_tensor("s", {}, {0.5F}), byte_tensor("z", {}, 1),
                         byte_tensor("w", {4, 6}, 2), byte_tensor("k", {2, 4, 1, 1}, 2)},
                        {value_info("x", type, {Dim(1), Dim(4), Dim(4), Dim(4)}),
                         value_info("m", type, {Dim("n"), Dim(4)})},
                        {value_info("y")}};
  return load(model(graph, 21) + message([](protozero::pbf_writer& w) {
                w.add_message(8, opset_import(1, "com.microsoft"));
              }));
}

TEST(MicrosoftQuantised, BecomesOperatorsOnRealNumbers) {
  if (op_def(OpKind::kQuantizeLinear).internal) GTEST_SKIP() << "there is no QuantizeLinear";
  const struct {
    const char* op;
    Names inputs;
    const char* kinds;
    Names attributes = {};
    int type = kOnnxInt8;
  } cases[] = {
      {"QLinearAdd",
       {"x", "s", "z", "x", "s", "z", "s", "z"},
       "DequantizeLinear DequantizeLinear Add QuantizeLinear"},
      {"QLinearMul",
       {"x", "s", "", "x", "s", "", "s"},
       "DequantizeLinear DequantizeLinear Mul QuantizeLinear"},
      {"QLinearConcat",
       {"s", "z", "x", "s", "z", "x", "s", "z"},
       "DequantizeLinear DequantizeLinear Concat QuantizeLinear",
       {attribute("axis", 1)}},
      {"QLinearSigmoid", {"x", "s", "z", "s", "z"}, "DequantizeLinear Sigmoid QuantizeLinear"},
      {"QLinearSoftmax",
       {"x", "s", "z", "s", "z"},
       "DequantizeLinear Flatten Softmax Shape Reshape QuantizeLinear",
       {attribute("opset", 12), attribute("axis", 1)}},
      {"QLinearAveragePool",
       {"x", "s", "z", "s", "z"},
       "DequantizeLinear Transpose AveragePool Transpose QuantizeLinear",
       {attribute("kernel_shape", Ints{2, 2}), attribute("channels_last", 1)}},
      {"QLinearGlobalAveragePool",
       {"x", "s", "z", "s", "z"},
       "DequantizeLinear GlobalAveragePool QuantizeLinear"},
      {"QLinearConv",
       {"x", "s", "z", "k", "s", "z", "s", "z"},
       "DequantizeLinear DequantizeLinear Transpose Conv Transpose QuantizeLinear",
       {attribute("channels_last", 1)}},
      {"QGemm",
       {"m", "s", "z", "w", "s", "z", "", "s", "z"},
       "DequantizeLinear DequantizeLinear Gemm QuantizeLinear"},
      {"QGemm", {"m", "s", "z", "w", "s", "z"}, "DequantizeLinear DequantizeLinear Gemm Identity"},
      {"MatMulIntegerToFloat", {"m", "w", "s", "s", "z", "z"}, "MatMulInteger Mul Cast Mul"},
      {"DynamicQuantizeMatMul",
       {"m", "w", "s", "z"},
       "DynamicQuantizeLinear MatMulInteger Mul Cast Mul",
       {},
       kOnnxFloat},
      {"QuantizeLinear", {"m", "s", "z"}, "QuantizeLinear", {}, kOnnxFloat},
  };
  for (const auto& c : cases) {
    const auto graph = load_quantised(c.op, c.inputs, c.attributes, c.type);
    ASSERT_TRUE(graph) << c.op << ": " << graph.error().to_string();
    std::string kinds;
    for (const Node& node : graph->nodes)
      kinds += (kinds.empty() ? "" : " ") + std::string(to_string(node.op));
    EXPECT_EQ(kinds, c.kinds) << c.op;
  }
}

}  // namespace
}  // namespace parallax
