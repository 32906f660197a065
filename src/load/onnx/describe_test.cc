#include "load/onnx/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"
#include "load/onnx_test_util.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<FileReport> describe(const std::string& bytes) {
  PX_ASSIGN(auto described, describe_onnx(std::as_bytes(std::span(bytes.data(), bytes.size()))));
  return std::move(described.report);
}

/// "domain.name count supported" of each operator.
std::vector<std::string> operators(const FileReport& report) {
  std::vector<std::string> result;
  for (const FileOperator& op : report.operators)
    result.push_back(op.domain + "." + op.name + " " + std::to_string(op.count) +
                     (op.supported ? " yes" : " no"));
  return result;
}

std::string shape(const FileTensor& tensor) {
  if (!tensor.shape) return "none";
  std::string text;
  for (const Dimension& dim : *tensor.shape)
    text += (dim.value >= 0 ? std::to_string(dim.value) : "<" + dim.symbol + ">") + " ";
  return text;
}

TEST(DescribeOnnx, CountsOperatorsThatCannotBeLoadedToo) {
  const TestGraph body = {
      {node("StringSplit", {"x"}, {"t"}), node("Relu", {"t"}, {"u"})}, {}, {}, {value_info("u")}};
  const TestGraph outer = {
      {node("If", {"x"}, {"v"}, {graph_attribute("then_branch", body.bytes())}),
       node("Relu", {"v"}, {"w"})},
      {},
      {},
      {value_info("w")}};
  const TestGraph graph = {
      {node("Foo", {"x"}, {"a"}, {}, {}, "com.acme"), node("Foo", {"a"}, {"b"}, {}, {}, "com.acme"),
       node("Relu", {"b"}, {"c"}, {}, {}, "ai.onnx"),
       node("If", {"c"}, {"y"}, {graph_attribute("else_branch", outer.bytes())}, "choice")},
      {},
      {value_info("x", kOnnxHalf, {Dim(2), Dim("n"), Dim()})},
      {value_info("y")}};
  const auto report = describe(model(graph));
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_THAT(operators(*report),
              ElementsAre(".Relu 3 yes", ".If 2 yes", "com.acme.Foo 2 no", ".StringSplit 1 no"));
  EXPECT_EQ(report->nodes, 8);
  ASSERT_EQ(report->bodies.size(), 2U);
  EXPECT_EQ(report->bodies[0].node, "choice");
  EXPECT_EQ(report->bodies[0].body, "else_branch");
  EXPECT_EQ(report->bodies[0].nodes, 2);
  EXPECT_EQ(report->bodies[1].node, "If_0");
  EXPECT_EQ(report->bodies[1].depth, 2);
  ASSERT_EQ(report->inputs.size(), 1U);
  EXPECT_EQ(report->inputs[0].type, "float16");
  EXPECT_EQ(shape(report->inputs[0]), "2 <n> <> ");
  ASSERT_EQ(report->outputs.size(), 1U);
  EXPECT_EQ(report->outputs[0].type, "");
  EXPECT_EQ(shape(report->outputs[0]), "none");
}

TEST(DescribeOnnx, CountsWeightsOfEveryTypeThatOnnxHas) {
  const TestGraph graph = {
      {node("Constant", {}, {"c"}, {tensor_attribute("value", float_tensor("", {2}, {1, 2}))}),
       node("Add", {"c", "x"}, {"y"})},
      {raw_tensor("half", kOnnxHalf, {3, 5}, std::string(30, 'x')),
       raw_tensor("nibbles", 22, {3}, "xx"), tensor_head("words", kOnnxString, {7}),
       tensor_head("huge", kOnnxFloat, {std::int64_t{1} << 40, std::int64_t{1} << 40}),
       tensor_head("negative", kOnnxFloat, {-1})},
      {value_info("x", kOnnxFloat, {Dim(2)}), value_info("half", kOnnxHalf, {Dim(3), Dim(5)}),
       value_info("sparse", kOnnxFloat, {Dim(2), Dim(3)})},
      {value_info("y")}};
  const std::string sparse = message([](protozero::pbf_writer& w) {
    w.add_message(15, message([](protozero::pbf_writer& tensor) {
                    tensor.add_message(1, float_tensor("sparse", {3}, {1, 2, 3}));
                  }));
  });
  const auto report = describe(fields(graph.bytes() + sparse, {opset_import(17)}));
  ASSERT_TRUE(report) << report.error().to_string();
  std::vector<std::string> weights;
  for (const FileWeights& each : report->weights) {
    weights.push_back(each.type + " " + std::to_string(each.tensors) + " " +
                      std::to_string(each.parameters) + " " + std::to_string(each.bytes));
  }
  EXPECT_THAT(weights,
              ElementsAre("float16 1 15 30", "float32 4 5 20", "int4 1 3 2", "string 1 7 0"));
  ASSERT_EQ(report->inputs.size(), 3U);
  EXPECT_FALSE(report->inputs[0].has_default);
  EXPECT_TRUE(report->inputs[1].has_default) << "an initializer";
  EXPECT_TRUE(report->inputs[2].has_default) << "a sparse initializer";
}

TEST(DescribeOnnx, AnOperatorSetThatIsNotReadSupportsNothing) {
  const TestGraph graph = {
      {node("Relu", {"x"}, {"y"})}, {}, {value_info("x", kOnnxFloat, {Dim(2)})}, {value_info("y")}};
  const auto report = describe(model(graph, 999));
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_THAT(operators(*report), ElementsAre(".Relu 1 no"));
  EXPECT_EQ(report->operators[0].opset, 999);
}

TEST(DescribeOnnx, RefusesWhatIsNoModel) {
  for (const std::string& bytes :
       {std::string(), std::string("hello, world"), std::string(64, 'x')})
    EXPECT_FALSE(describe(bytes)) << bytes;
}

TEST(DescribeOnnx, EveryTruncationIsReadOrRefused) {
  const std::string whole = model({{node("Relu", {"x"}, {"y"})},
                                   {float_tensor("w", {2}, {1, 2})},
                                   {value_info("x", kOnnxFloat, {Dim(2)})},
                                   {value_info("y")}});
  for (std::size_t size = 0; size < whole.size(); ++size) (void)describe(whole.substr(0, size));
}

TEST(DescribeOnnx, BodiesNestedDeeplyAreRefused) {
  TestGraph graph = {{node("Relu", {"x"}, {"y"})}, {}, {}, {value_info("y")}};
  for (int depth = 0; depth < 70; ++depth) {
    graph.nodes = {node("If", {"x"}, {"y"}, {graph_attribute("then_branch", graph.bytes())})};
    EXPECT_EQ(describe(model(graph)).has_value(), depth < kMaxNesting) << depth;
  }
  EXPECT_THAT(describe(model(graph)).error().message, HasSubstr("nested"));
}

}  // namespace
}  // namespace parallax
