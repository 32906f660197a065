#include "load/onnx/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "load/onnx/describe.h"
#include "load/onnx_test_util.h"

namespace parallax {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::string property(std::string_view key, std::string_view value) {
  return message([&](protozero::pbf_writer& w) {
    w.add_string(1, key.data(), key.size());
    w.add_string(2, value.data(), value.size());
  });
}

/// Returns a model with the fields that `fill` writes after the others.
template <class Fill>
std::string model_with(Fill fill) {
  const TestGraph graph = {
      {node("Relu", {"x"}, {"y"})}, {}, {value_info("x", kOnnxFloat, {Dim(2)})}, {value_info("y")}};
  return model(graph) + message(fill);
}

ModelMetadata metadata_of(const std::string& bytes) {
  const auto all = std::as_bytes(std::span(bytes.data(), bytes.size()));
  const auto metadata = read_onnx_metadata(all, "g");
  EXPECT_TRUE(metadata) << metadata.error().to_string();
  return metadata.value_or(ModelMetadata{});
}

TEST(Metadata, IsWhatTheFileHas) {
  const std::string bytes = model_with([](protozero::pbf_writer& w) {
    w.add_string(3, "2.1");
    w.add_string(4, "com.acme");
    w.add_int64(5, 7);
    w.add_string(6, "Two\nlines");
    w.add_message(14, property("author", "A"));
    w.add_message(14, property("author", "B"));
    w.add_message(14, property("", ""));
  });
  const ModelMetadata metadata = metadata_of(bytes);
  EXPECT_EQ(metadata.producer_name, "test");
  EXPECT_EQ(metadata.producer_version, "2.1");
  EXPECT_EQ(metadata.domain, "com.acme");
  EXPECT_EQ(metadata.model_version, 7);
  EXPECT_EQ(metadata.doc_string, "Two\nlines");
  EXPECT_EQ(metadata.graph_name, "g");
  EXPECT_THAT(metadata.properties,
              ElementsAre(Pair("author", "A"), Pair("author", "B"), Pair("", "")));
  EXPECT_FALSE(metadata.truncated);
  const auto report = describe_onnx(std::as_bytes(std::span(bytes.data(), bytes.size())));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->report.metadata.graph_name, "g");
  EXPECT_EQ(report->report.metadata.properties, metadata.properties);
}

TEST(Metadata, IsUtf8WhateverTheFileHas) {
  const ModelMetadata metadata = metadata_of(model_with([](protozero::pbf_writer& w) {
    w.add_string(4, "\xC3\xA9|\xC3|\xED\xA0\x80|\xF0\x9F");
    w.add_string(6, std::string("a\0b", 3));
  }));
  EXPECT_EQ(metadata.domain, "é|\uFFFD|\uFFFD\uFFFD\uFFFD|\uFFFD\uFFFD");
  EXPECT_EQ(metadata.doc_string, std::string("a\0b", 3));
}

TEST(Metadata, IsLimited) {
  constexpr auto kBytes = static_cast<std::size_t>(ModelMetadata::kMaxBytes);
  // "test" and "g" take 5 bytes; é has two, so that none of it fits into the last.
  const std::string fits(kBytes - 6, 'x');
  for (const auto& [text, kept, truncated] :
       std::vector<std::tuple<std::string, std::size_t, bool>>{{fits, kBytes - 6, false},
                                                               {fits + "y", kBytes - 5, false},
                                                               {fits + "é", kBytes - 6, true},
                                                               {fits + fits, kBytes - 5, true}}) {
    const ModelMetadata metadata =
        metadata_of(model_with([&](protozero::pbf_writer& w) { w.add_string(6, text); }));
    EXPECT_EQ(metadata.doc_string.size(), kept);
    EXPECT_EQ(metadata.truncated, truncated);
  }
  const ModelMetadata many = metadata_of(model_with([](protozero::pbf_writer& w) {
    for (std::int64_t i = 0; i <= ModelMetadata::kMaxProperties; ++i)
      w.add_message(14, property("k", ""));
  }));
  EXPECT_EQ(std::ssize(many.properties), ModelMetadata::kMaxProperties);
  EXPECT_TRUE(many.truncated);
  const ModelMetadata full = metadata_of(model_with([&](protozero::pbf_writer& w) {
    w.add_message(14, property("k", fits + fits));
    w.add_message(14, property("later", "v"));
  }));
  EXPECT_THAT(full.properties, ElementsAre(Pair("k", testing::SizeIs(kBytes - 6))));
  EXPECT_TRUE(full.truncated);
}

TEST(Metadata, DamagedPropertiesDamageTheModel) {
  const auto loaded =
      load(model_with([](protozero::pbf_writer& w) { w.add_string(14, "\x0A\x7F"); }));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidModel);
  EXPECT_THAT(loaded.error().message, testing::HasSubstr("metadata property"));
  EXPECT_THAT(metadata_of(model_with([](protozero::pbf_writer&) {})).properties, IsEmpty());
}

}  // namespace
}  // namespace parallax
