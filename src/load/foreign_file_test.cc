#include "load/foreign_file.h"

#include <gtest/gtest.h>

#include "load/onnx/describe.h"
#include "load/onnx_test_util.h"

namespace parallax {
namespace {

using std::string_literals::operator""s;

TEST(ForeignFile, IsNamedWhereAModelIsExpected) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const struct {
    std::string bytes;
    const char* name;  ///< null: no other format
  } cases[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
       "a Git LFS pointer"},
      {"<!DOCTYPE html>\n<html lang=\"en\">", "an HTML page"},
      {"\xEF\xBB\xBF\n  <HTML><head>", "an HTML page"},
      {"\x18\0\0\0ORTM\0\0"s, "ONNX Runtime's own format"},
      {"PK\x03\x04\0\0\x08\x08\0\0"s, "a ZIP archive"},
      {"GGUF\x03\0\0\0"s, "a GGUF file"},
      {static_cast<char>(header.size()) + "\0\0\0\0\0\0\0"s + header + "\0\0\0\0"s,
       "a safetensors file"},
      {"\xff\0\0\0\0\0\0\0{}"s, nullptr},
      {"hello", nullptr},
      {"<", nullptr},
      {"ORTM", nullptr},
  };
  for (const auto& c : cases) {
    const auto graph = load(c.bytes);
    ASSERT_FALSE(graph) << c.bytes;
    EXPECT_EQ(graph.error().code, ErrorCode::kInvalidModel);
    const bool named = graph.error().message.starts_with("not an ONNX model but ");
    EXPECT_EQ(named, c.name != nullptr) << graph.error().message;
    if (c.name == nullptr) continue;
    EXPECT_NE(graph.error().message.find(c.name), std::string::npos) << graph.error().message;
    const auto described = describe_onnx(std::as_bytes(std::span(c.bytes)));
    EXPECT_EQ(described.error().message, graph.error().message);
  }
}

TEST(ForeignFile, AModelThatLooksLikeOneIsRead) {
  std::string bytes = model({{node("Relu", {"x"}, {"y"})},
                             {},
                             {value_info("x", kOnnxFloat, {Dim(2)})},
                             {value_info("y")}});
  // Field 100, a text of four bytes that begins where other formats have their name.
  bytes = "\xa2\x06\x05\0ORTM"s + bytes;
  EXPECT_TRUE(foreign_file(std::as_bytes(std::span(bytes))));
  EXPECT_TRUE(load(bytes));
}

}  // namespace
}  // namespace parallax
