// Statements of TFLite files about themselves, valid and damaged.
#include <gtest/gtest.h>

#include "load/tflite/tflite.h"
#include "load/tflite_test_util.h"

namespace parallax {
namespace {

/// The flatbuffer of "TFLITE_METADATA".
std::string metadata_table(const char* identifier) {
  FlatBuilder to;
  const auto name = to.CreateString("a name"), license = to.CreateString("a licence");
  const auto start = to.StartTable();
  to.AddOffset(4, name);
  to.AddOffset(14, license);
  to.Finish(flatbuffers::Offset<flatbuffers::Table>(to.EndTable(start)), identifier);
  return {reinterpret_cast<const char*>(to.GetBufferPointer()), to.GetSize()};
}

TEST(TfliteMetadata, IsReadIfItIsValid) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  const Pairs both = {
      {"min_runtime_version", "1.5.0"}, {"name", "a name"}, {"license", "a licence"}};
  const Pairs version = {{"min_runtime_version", "1.5.0"}};
  const std::string good = metadata_table("M001");
  std::string far = good;
  far[0] = '\x70';
  struct Row {
    std::string table;
    Pairs pairs;
  };
  for (const Row& row : std::vector<Row>{{good, both},
                                         {metadata_table("M002"), version},
                                         {far, version},
                                         {good.substr(0, good.size() - 8), version},
                                         {"", version}}) {
    TfliteModel model = tflite_example();
    model.buffers = {{.bytes = std::string("1.5.0\0\0\0", 8)}, {.bytes = row.table}};
    model.metadata = {{"min_runtime_version", 1}, {"TFLITE_METADATA", 2}};
    const std::string bytes = tflite_bytes(model);
    const auto metadata = read_tflite_metadata(std::as_bytes(std::span(bytes)), "graph");
    ASSERT_TRUE(metadata) << metadata.error().to_string();
    EXPECT_EQ(metadata->properties, row.pairs);
    EXPECT_EQ(metadata->doc_string, "test");
  }
}

}  // namespace
}  // namespace parallax
