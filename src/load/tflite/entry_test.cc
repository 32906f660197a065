// Names of inputs and outputs of TFLite files, and signatures.
#include "load/tflite/entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "load/tflite/tflite.h"
#include "load/tflite_test_util.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<Graph> graph_of_signature(const TfliteModel& model, const std::string& signature) {
  static std::string bytes;  // constants stay there
  bytes = tflite_bytes(model);
  return load_tflite({std::as_bytes(std::span(bytes)), nullptr}, {.signature = signature}, nullptr,
                     nullptr);
}

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(graph.values[id].name);
  return names;
}

TfliteGraph unary(TfliteOp code) {
  return {.tensors = {{"t", {2}}, {"out", {2}}, {"t", {2}}},
          .operators = {{code, {0}, {1}}, {code, {1}, {2}}},
          .inputs = {0},
          .outputs = {2, 0}};
}

TfliteModel two_signatures() {
  return {.graphs = {unary(TfliteOp::RELU), unary(TfliteOp::ABS)},
          .signatures = {{"positive", {{"in", 0}}, {{"out", 2}}, 0},
                         {"magnitude", {{"x", 0}}, {{"out", 2}, {"same", 0}}, 1}}};
}

TEST(TfliteSignatures, SelectASubgraphAndNameItsEnds) {
  struct Row {
    std::string signature;
    OpKind op;
    std::vector<std::string> inputs, outputs;
  };
  for (const Row& row : std::vector<Row>{{"", OpKind::kRelu, {"t"}, {"t_1", "t"}},
                                         {"positive", OpKind::kRelu, {"in"}, {"out", "t"}},
                                         {"magnitude", OpKind::kAbs, {"x"}, {"out", "same"}}}) {
    const auto graph = graph_of_signature(two_signatures(), row.signature);
    ASSERT_TRUE(graph) << graph.error().to_string();
    EXPECT_EQ(graph->nodes.begin()->op, row.op);
    EXPECT_EQ(names_of(*graph, graph->inputs), row.inputs);
    EXPECT_EQ(names_of(*graph, graph->outputs), row.outputs);
  }
  const auto none = graph_of_signature(two_signatures(), "other");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(none.error().message, HasSubstr("positive"));
  EXPECT_THAT(none.error().message, HasSubstr("magnitude"));
}

TEST(TfliteSignatures, AreDescribed) {
  const std::string bytes = tflite_bytes(two_signatures());
  const auto described = describe_tflite(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(described) << described.error().to_string();
  const auto& signatures = described->report.signatures;
  ASSERT_EQ(signatures.size(), 2U);
  EXPECT_EQ(signatures[1].name, "magnitude");
  EXPECT_EQ(signatures[1].inputs[0].name, "x");
  EXPECT_EQ(signatures[1].outputs[1].name, "same");
  EXPECT_EQ(signatures[1].outputs[1].type, "float32");
}

TEST(TfliteNames, AreMadeByPositionWhereTheFileHasNone) {
  const TfliteModel model = {
      .graphs = {{.tensors = {{"", {2}}, {"input0", {2}}, {"", {2}}, {"output0", {2}}, {"", {2}}},
                  .operators = {{TfliteOp::MAXIMUM, {0, 1}, {3}}, {TfliteOp::MAXIMUM, {3, 2}, {4}}},
                  .inputs = {0, 1, 2},
                  .outputs = {4}}}};
  const auto graph = graph_of_signature(model, "");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_THAT(names_of(*graph, graph->inputs), ElementsAre("input0", "input0_1", "input2"));
  EXPECT_THAT(names_of(*graph, graph->outputs), ElementsAre("output0"));
}

}  // namespace
}  // namespace parallax
