// TFLite files as graphs: names, symbols, control flow, and what is refused.
#include "load/tflite/tflite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "load/tflite_test_util.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;
using testing::HasSubstr;

Result<Graph> graph_of(const TfliteModel& model, const LoadOptions& options = {}) {
  static std::string bytes;  // constants stay there
  bytes = tflite_bytes(model);
  return load_tflite({std::as_bytes(std::span(bytes)), nullptr}, options, nullptr, nullptr);
}

std::string operators_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes)
    text += (text.empty() ? "" : " ") + std::string(to_string(node.op));
  return text;
}

TfliteStep relu(std::int32_t from, std::int32_t to) { return {TfliteOp::RELU, {from}, {to}}; }

TEST(LoadTflite, NamesInputsResultsAndSymbolsAsTheFileDoes) {
  auto graph =
      graph_of({.graphs = {{.tensors = {{.name = "x", .shape = {1, 4}, .signature = {-1, 4}},
                                        {.name = "y", .shape = {1, 4}}},
                            .operators = {relu(0, 1)},
                            .inputs = {0},
                            .outputs = {1}}}});
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(graph->values[graph->inputs[0]].name, "x");
  EXPECT_EQ(graph->values[graph->outputs[0]].name, "y");
  EXPECT_EQ(graph->nodes.begin()->name, "RELU 0/Relu");
  EXPECT_EQ(to_string(graph->values[graph->outputs[0]].shape, graph->symbol_names()), "x_dim_0x4");
}

TEST(LoadTflite, GivesInputsTheSizesThatAreKnown) {
  const auto result = [](std::vector<KnownInput> known) -> std::string {
    const TfliteModel model = {
        .graphs = {{.tensors = {{.name = "x", .shape = {1, 4}, .signature = {-1, 4}},
                                {.name = "y", .shape = {1, 4}}},
                    .operators = {relu(0, 1)},
                    .inputs = {0},
                    .outputs = {1}}}};
    const auto graph = graph_of(model, {.inputs = std::move(known)});
    if (!graph) return graph.error().message;
    return to_string(graph->values[graph->outputs[0]].shape, graph->symbol_names());
  };
  EXPECT_EQ(result({}), "x_dim_0x4");
  EXPECT_EQ(result({{"x"}}), "x_dim_0x4");
  EXPECT_EQ(result({{"x", {{-1, -1}}}}), "x_dim_0x4");
  EXPECT_EQ(result({{"x", {{3, -1}}}}), "3x4");
  EXPECT_EQ(result({{"x", {{-1, 7}}}}), "x_dim_0x7");
  EXPECT_EQ(result({{"x", {{0, 0}}}}), "0x0");
  EXPECT_EQ(result({{"x", {{1}}}}), "input 'x' has 2 dimensions, 1 are given");
  EXPECT_EQ(result({{"x", {{-2, 4}}}}), "input 'x' cannot have size -2 in dimension 0");
  EXPECT_EQ(result({{"y"}}), "input 'y' is not among the model's");
  EXPECT_EQ(result({{"x"}, {"x"}}), "input 'x' is given twice");
}

/// Sizes that the file's constants contradict are refused where inference sees them.
TEST(LoadTflite, RefusesKnownSizesThatItsOperatorsRefuse) {
  const auto graph = graph_of(
      {.graphs =
           {{.tensors = {{"x", {4}}, {"two", {4}, tflite_data<float>({1, 2, 3, 4})}, {"y", {4}}},
             .operators = {{TfliteOp::MUL, {0, 1}, {2}}},
             .inputs = {0},
             .outputs = {2}}}},
      {.inputs = {{"x", {{5}}}}});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().node, "MUL 0/Mul");
}

/// Tensors with one name get names of their own; an output may be an input.
TEST(LoadTflite, TakesFilesWithoutUniqueNames) {
  auto graph = graph_of({.graphs = {{.tensors = {{"t", {2}}, {"t", {2}}, {"", {2}}},
                                     .operators = {relu(0, 1), relu(1, 2)},
                                     .inputs = {0},
                                     .outputs = {2, 0}}}});
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(operators_of(*graph), "Relu Relu");
  EXPECT_EQ(graph->values[graph->outputs[0]].name, "output0");
  EXPECT_EQ(graph->values[graph->outputs[1]].name, "t");
}

TfliteModel loop() {
  const auto flag = TfliteType::BOOL;
  TfliteGraph main = {.tensors = {{"x", {1}}, {"y", {1}}},
                      .operators = {{TfliteOp::WHILE, {0}, {1}, tflite_options([](auto& to) {
                                       return schema::CreateWhileOptions(to, 1, 2);
                                     })}},
                      .inputs = {0},
                      .outputs = {1}};
  TfliteGraph cond = {
      .tensors = {{"x", {1}}, {"limit", {1}, tflite_data<float>({9})}, {"go", {1}, "", flag}},
      .operators = {{TfliteOp::LESS, {0, 1}, {2}}},
      .inputs = {0},
      .outputs = {2}};
  TfliteGraph body = {.tensors = {{"x", {1}}, {"twice", {1}}},
                      .operators = {{TfliteOp::ADD, {0, 0}, {1}}},
                      .inputs = {0},
                      .outputs = {1}};
  return {.graphs = {std::move(main), std::move(cond), std::move(body)}};
}

TEST(LoadTflite, MakesALoopOfAWhile) {
  auto graph = graph_of(loop());
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(operators_of(*graph), "Less Loop");
  const Node& node = *(graph->nodes.end() - 1);
  ASSERT_EQ(node.bodies.size(), 1U);
  EXPECT_EQ(operators_of(*node.bodies[0]), "Add Less");
}

TEST(LoadTflite, RefusesALoopWhoseBodyDoesNotFit) {
  TfliteModel model = loop();
  model.graphs[2].outputs = {1, 1};
  auto graph = graph_of(model);
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().to_string(), HasSubstr("the body returns 2 values, 1 are carried"));
  model = loop();
  model.graphs[0].tensors[0].type = model.graphs[0].tensors[1].type = TfliteType::INT32;
  graph = graph_of(model);
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().to_string(), HasSubstr("is given int32"));
}

/// Each of twelve subgraphs calls the next one twelve times: 12^11 operators in 30 KB.
TEST(LoadTflite, RefusesCallsThatMultiply) {
  TfliteModel model;
  constexpr std::int32_t kDepth = 12, kCalls = 12;
  for (std::int32_t depth = 0; depth < kDepth; ++depth) {
    TfliteGraph graph = {
        .tensors = {{"x", {1}}}, .operators = {}, .inputs = {0}, .outputs = {kCalls}};
    for (std::int32_t i = 0; i < kCalls; ++i) {
      graph.tensors.push_back({"t" + std::to_string(i), {1}});
      if (depth + 1 == kDepth) {
        graph.operators.push_back(relu(i, i + 1));
        continue;
      }
      graph.operators.push_back({TfliteOp::CALL, {i}, {i + 1}, tflite_options([=](auto& to) {
                                   return schema::CreateCallOptions(
                                       to, static_cast<std::uint32_t>(depth) + 1);
                                 })});
    }
    model.graphs.push_back(std::move(graph));
  }
  auto graph = graph_of(model);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(graph.error().to_string(), HasSubstr("too much"));
}

TEST(LoadTflite, NamesAllOperatorsThatAreMissing) {
  TfliteModel model = {.graphs = {{.tensors = {{"x", {2}}, {"a", {2}}, {"b", {2}}, {"c", {2}}},
                                   .operators = {{TfliteOp::HASHTABLE_LOOKUP, {0}, {1}},
                                                 {.code = TfliteOp::CUSTOM,
                                                  .inputs = {1},
                                                  .outputs = {2},
                                                  .custom_code = "FlexErf"},
                                                 {TfliteOp::HASHTABLE_LOOKUP, {2}, {3}}},
                                   .inputs = {0},
                                   .outputs = {3}}}};
  auto graph = graph_of(model);
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("CUSTOM FlexErf (1), HASHTABLE_LOOKUP (2)"));
  const std::string bytes = tflite_bytes(model);
  const auto nodes = check_tflite({std::as_bytes(std::span(bytes)), nullptr}, {});
  ASSERT_TRUE(nodes) << nodes.error().to_string();
  ASSERT_EQ(nodes->size(), 1U);  // the others read its result
  EXPECT_EQ((*nodes)[0].node, "HASHTABLE_LOOKUP 0");
}

TEST(LoadTflite, DescribesAFile) {
  const std::string bytes = tflite_bytes(loop());
  const auto described = describe_tflite(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(described) << described.error().to_string();
  const FileReport& report = described->report;
  EXPECT_EQ(report.format, "TFLite");
  EXPECT_EQ(report.format_version, 3);
  EXPECT_EQ(report.nodes, 3);
  ASSERT_EQ(report.operators.size(), 3U);
  for (const FileOperator& op : report.operators) EXPECT_TRUE(op.supported) << op.name;
  EXPECT_EQ(report.inputs[0].name, "x");
  EXPECT_EQ(report.weights[0].bytes, 4);
  EXPECT_EQ(report.metadata.doc_string, "test");
}

TEST(LoadTflite, DescribesQuantizedTensors) {
  std::vector<TfliteTensor> tensors = {{.name = "real", .shape = {2}},
                                       {.name = "one", .shape = {2}, .type = TfliteType::UINT8},
                                       {.name = "axis", .shape = {2, 3}, .type = TfliteType::INT8}};
  tensors[1].quantization = tflite_quantized({0.5F}, {128});
  tensors[2].quantization = tflite_quantized({1, 2, 3}, {0, 0, 0}, 1);
  const TfliteGraph graph = {
      .tensors = tensors, .operators = {}, .inputs = {1, 2, 0}, .outputs = {0}};
  const std::string bytes = tflite_bytes({.graphs = {graph}});
  const auto described = describe_tflite(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(described) << described.error().to_string();
  using Zeros = std::vector<std::int64_t>;
  const std::vector<FileTensor>& inputs = described->report.inputs;
  ASSERT_EQ(inputs.size(), 3U);
  EXPECT_EQ(inputs[0].index, 1);
  EXPECT_THAT(inputs[0].quantization.scales, testing::ElementsAre(0.5F));
  EXPECT_EQ(inputs[0].quantization.zero_points, Zeros{128});
  EXPECT_THAT(inputs[1].quantization.scales, testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(inputs[1].quantization.zero_points, (Zeros{0, 0, 0}));
  EXPECT_EQ(inputs[1].quantization.axis, 1);
  EXPECT_EQ(inputs[2].index, 0);
  EXPECT_TRUE(inputs[2].quantization.scales.empty());
}

}  // namespace
}  // namespace parallax
