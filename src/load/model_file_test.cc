#include "load/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "load/onnx_test_util.h"

namespace parallax {
namespace {

using testing::HasSubstr;

std::span<const std::byte> bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(ModelFile, BytesTellTheFormat) {
  const std::string file = model({.nodes = {node("Relu", {"x"}, {"y"})},
                                  .initializers = {},
                                  .inputs = {value_info("x", kOnnxFloat, {2})},
                                  .outputs = {value_info("y")}});
  const auto graph = load_model({bytes_of_text(file)}, {});
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(graph->nodes.size(), 1U);
  const auto described = describe_model(bytes_of_text(file));
  ASSERT_TRUE(described);
  EXPECT_EQ(described->report.format, "ONNX");
  ASSERT_EQ(described->kinds.size(), 1U);
  EXPECT_EQ(described->kinds[0], OpKind::kRelu);
  EXPECT_TRUE(read_metadata(bytes_of_text(file), "g"));
}

TEST(ModelFile, NamesFilesOfOtherFormats) {
  const std::string_view file("\x1c\0\0\0ORTM and so on", 20);
  for (const Error& error : {load_model({bytes_of_text(file)}, {}).error(),
                             check_model({bytes_of_text(file)}, {}).error(),
                             describe_model(bytes_of_text(file)).error()}) {
    EXPECT_EQ(error.code, ErrorCode::kInvalidModel);
    EXPECT_THAT(error.message, HasSubstr("ONNX Runtime's own format (.ort)"));
  }
}

}  // namespace
}  // namespace parallax
