// Files that open, what is read from them, and files with any bytes changed or missing.
#include "load/tflite/tflite_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "load/tflite_test_util.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

const std::string kFour = tflite_data<float>({1, 2, 3, 4});

std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(OpenTflite, GivesWhatTheFileHas) {
  const OpenedTflite opened(tflite_bytes(tflite_example()));
  ASSERT_TRUE(opened.file) << opened.file.error().to_string();
  const TfliteFile& file = *opened.file;
  ASSERT_EQ(file.subgraphs.size(), 3U);
  EXPECT_FALSE(file.copy);
  const schema::SubGraph& graph = *file.subgraphs[0].graph;
  const auto& tensors = *graph.tensors();
  EXPECT_THAT(file.subgraphs[0].order, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(as_text(constant_bytes(file, *tensors[1])), kFour);
  EXPECT_TRUE(constant_bytes(file, *tensors[0]).empty());
  EXPECT_EQ(dims_of(*tensors[7]), (Dims{1, 2}));
  EXPECT_TRUE(is_dynamic(*tensors[7]));
  EXPECT_FALSE(is_dynamic(*tensors[0]));
  EXPECT_EQ(quantized_axis(*tensors[5]), 1);
  EXPECT_EQ(quantized_axis(*tensors[0]), std::nullopt);
  EXPECT_THAT(constant_strings(constant_bytes(file, *tensors[4])), ElementsAre("one", ""));
  EXPECT_EQ(tensor_name(graph, 0), "'x'");
  EXPECT_EQ(tensor_name(graph, 3), "tensor 3");
  EXPECT_EQ(operator_name(file, 0, 1), "RELU 1");
  EXPECT_EQ(operator_name(file, 0, 3), "CUSTOM Mine 3");
  EXPECT_EQ(operator_name(file, 2, 0), "STABLEHLO_ABS 0 of subgraph 2");
  EXPECT_EQ(as_text(custom_options(file, *(*graph.operators())[3])), "options");
}

TEST(OpenTflite, ReadsBytesBehindTheFlatbuffer) {
  const std::string behind = "behind" + kFour;
  TfliteModel model = tflite_example();
  model.graphs[0].tensors[1] = {.name = "w", .shape = {2, 2}, .buffer = 1};
  // The numbers have one size, whatever their values are.
  for (std::uint64_t size = 2; true;) {
    model.buffers = {{.offset = size + 6, .size = 16}};
    model.graphs[0].operators[3].custom_options = "";
    model.graphs[0].operators[3].large_offset = size;
    model.graphs[0].operators[3].large_size = 6;
    const std::string bytes = tflite_bytes(model);
    if (std::exchange(size, bytes.size()) != bytes.size()) continue;
    const OpenedTflite opened(bytes + behind);
    ASSERT_TRUE(opened.file) << opened.file.error().to_string();
    const schema::SubGraph& graph = *opened.file->subgraphs[0].graph;
    EXPECT_EQ(as_text(constant_bytes(*opened.file, *(*graph.tensors())[1])), kFour);
    EXPECT_EQ(as_text(custom_options(*opened.file, *(*graph.operators())[3])), "behind");
    EXPECT_FALSE(OpenedTflite(bytes + behind.substr(1)).file);
    break;
  }
}

TEST(OpenTflite, CopiesBytesThatAreNotAligned) {
  const std::string bytes = tflite_bytes(tflite_example());
  for (const std::size_t offset : {1U, 2U, 4U, 8U}) {
    std::vector<std::byte> moved(bytes.size() + offset);
    std::memcpy(moved.data() + offset, bytes.data(), bytes.size());
    const auto file = open_tflite(std::span(moved).subspan(offset));
    ASSERT_TRUE(file);
    EXPECT_EQ(file->copy != nullptr, offset % kTfliteAlignment != 0);
    EXPECT_EQ(read_all(*file), read_all(*OpenedTflite(bytes).file));
    const auto& quantized = *(*file->subgraphs[0].graph->tensors())[5]->quantization();
    EXPECT_THAT(longs_of(quantized.zero_point()), ElementsAre(0, 0));
  }
}

TEST(OpenTflite, SortsOperators) {
  // Each row: pairs of what an operator reads and writes.
  const struct {
    std::vector<std::pair<TfliteInts, TfliteInts>> operators;
    TfliteInts order;
  } cases[] = {
      {{{{0}, {1}}, {{0}, {2}}, {{1, 2}, {3}}}, {0, 1, 2}},
      {{{{1, 2}, {3}}, {{0}, {2}}, {{0}, {1}}}, {1, 2, 0}},
      {{{{2}, {3}}, {{0}, {1}}, {{1}, {2}}}, {1, 2, 0}},
      {{{{2, 2}, {3}}, {{-1, 0}, {2}}, {{}, {1}}}, {1, 0, 2}},
  };
  for (const auto& c : cases) {
    TfliteGraph graph = {
        .tensors = {{"x"}, {"a"}, {"b"}, {"y"}}, .operators = {}, .inputs = {0}, .outputs = {3}};
    for (const auto& [inputs, outputs] : c.operators)
      graph.operators.push_back({TfliteOp::CONCATENATION, inputs, outputs});
    const OpenedTflite opened(tflite_bytes({.graphs = {graph}}));
    ASSERT_TRUE(opened.file) << opened.file.error().to_string();
    EXPECT_THAT(opened.file->subgraphs[0].order, ElementsAreArray(c.order));
  }
}

TEST(OpenTflite, TakesOneBiasScalePerChannelWhateverTheAxis) {
  TfliteModel model = tflite_example();
  model.graphs[0].tensors.push_back({.name = "bias",
                                     .shape = {3},
                                     .type = TfliteType::INT32,
                                     .quantization = tflite_quantized({1, 2, 3}, {0, 0, 0}, 3)});
  const OpenedTflite opened(tflite_bytes(model));
  ASSERT_TRUE(opened.file) << opened.file.error().to_string();
  EXPECT_EQ(quantized_axis(*(*opened.file->subgraphs[0].graph->tensors())[8]), 0);
}

TEST(OpenTflite, FollowsCallsToTheLimit) {
  const auto chain = [](int calls) {
    TfliteModel model;
    for (int i = 0; i < calls; ++i)
      model.graphs.push_back({{},
                              {{TfliteOp::CALL, {}, {}, tflite_options([=](auto& to) {
                                  return schema::CreateCallOptions(
                                      to, static_cast<std::uint32_t>(i + 1));
                                })}},
                              {},
                              {}});
    model.graphs.push_back({});
    return OpenedTflite(tflite_bytes(model)).file;
  };
  EXPECT_TRUE(chain(64));
  const auto deeper = chain(65);
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(deeper.error().message, HasSubstr("more than 64 deep"));
}

TEST(OpenTflite, RefusesTablesThatShareALongVector) {
  FlatBuilder to;
  const std::vector<std::int32_t> many(10000, -1);
  const auto inputs = to.CreateVector(many);
  const std::vector operators(many.size(), schema::CreateOperator(to, 0, inputs));
  const std::vector graphs = {
      schema::CreateSubGraphDirect(to, nullptr, nullptr, nullptr, &operators)};
  const std::vector codes = {schema::CreateOperatorCode(to)};
  schema::FinishModelBuffer(to, schema::CreateModelDirect(to, 3, &codes, &graphs));
  const OpenedTflite opened({reinterpret_cast<const char*>(to.GetBufferPointer()), to.GetSize()});
  ASSERT_FALSE(opened.file);
  EXPECT_THAT(opened.file.error().message, HasSubstr("share vectors"));
}

TEST(OpenTflite, ReadsOrRefusesAFileThatWasCutShort) {
  const std::string whole = tflite_bytes(tflite_example());
  for (std::size_t size = 0; size < whole.size(); size += 64) {
    const OpenedTflite opened(whole.substr(0, size));
    if (opened.file) read_all(*opened.file);
    EXPECT_FALSE(opened.file) << size;
  }
}

TEST(OpenTflite, ReadsOrRefusesAFileWithAnyByteChanged) {
  const std::string whole = tflite_bytes(tflite_example());
  std::size_t opened_files = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const int change : {0x01, 0x04, 0x80, 0xFF}) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ change);
      const OpenedTflite opened(bytes);
      if (!opened.file) {
        EXPECT_FALSE(opened.file.error().message.empty());
        continue;
      }
      read_all(*opened.file);
      ++opened_files;
    }
  }
  EXPECT_GT(opened_files, 0U);
}

}  // namespace
}  // namespace parallax
