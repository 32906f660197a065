// Sparse tensors: the number of elements that they store, and parameters that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "load/tflite_test_util.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;
using testing::HasSubstr;

/// A dense level of a size, or a sparse one.
struct SparseLevel {
  std::int32_t size = 0;
  std::vector<std::uint8_t> segments = {};
  std::vector<std::uint8_t> indices = {};
};
struct SparseLevels {
  TfliteInts order, blocks;
  std::vector<SparseLevel> levels;
};

FlatTable<schema::SparsityParameters> write_sparsity(const SparseLevels& sparsity) {
  return [=](FlatBuilder& to) {
    std::vector<flatbuffers::Offset<schema::DimensionMetadata>> levels;
    const auto type = schema::SparseIndexVector::Uint8Vector;
    for (const SparseLevel& level : sparsity.levels) {
      if (level.segments.empty()) {
        levels.push_back(
            schema::CreateDimensionMetadata(to, schema::DimensionType::DENSE, level.size));
        continue;
      }
      const auto segments = schema::CreateUint8VectorDirect(to, &level.segments).Union();
      const auto indices = schema::CreateUint8VectorDirect(to, &level.indices).Union();
      levels.push_back(schema::CreateDimensionMetadata(to, schema::DimensionType::SPARSE_CSR, 0,
                                                       type, segments, type, indices));
    }
    return schema::CreateSparsityParametersDirect(to, &sparsity.order, &sparsity.blocks, &levels);
  };
}

/// Opens a model with a sparse tensor of 2x4 bytes that stores `bytes` of them.
Result<TfliteFile> open_sparse(const SparseLevels& sparsity, std::size_t bytes) {
  TfliteGraph graph = {.tensors = {{.name = "s",
                                    .shape = {2, 4},
                                    .bytes = std::string(bytes, 'x'),
                                    .type = TfliteType::INT8,
                                    .sparsity = write_sparsity(sparsity)}},
                       .operators = {},
                       .inputs = {},
                       .outputs = {0}};
  const OpenedTflite opened(tflite_bytes({.graphs = {std::move(graph)}}));
  if (!opened.file) return tl::unexpected(opened.file.error());
  return TfliteFile{};  // the memory is gone
}

TEST(TfliteSparsity, CountsStoredElements) {
  const struct {
    SparseLevels sparsity;
    std::size_t stored;
  } cases[] = {
      {{{0, 1}, {}, {{2}, {4}}}, 8},
      {{{0, 1}, {}, {{2}, {0, {0, 1, 3}, {2, 0, 3}}}}, 3},
      {{{1, 0}, {}, {{4}, {0, {0, 0, 1, 1, 2}, {1, 0}}}}, 2},
      {{{0, 1}, {}, {{0, {0, 1}, {1}}, {4}}}, 4},
      {{{0, 1, 2}, {1}, {{2}, {0, {0, 1, 2}, {0, 1}}, {2}}}, 4},
      {{{0, 1, 2, 3}, {0, 1}, {{1}, {0, {0, 1}, {1}}, {2}, {2}}}, 4},
  };
  for (const auto& c : cases) {
    const auto file = open_sparse(c.sparsity, c.stored);
    EXPECT_TRUE(file) << file.error().to_string();
    EXPECT_FALSE(open_sparse(c.sparsity, c.stored + 1));
  }
}

TEST(TfliteSparsity, RefusesParametersThatContradictTheShape) {
  const struct {
    const char* message;
    SparseLevels sparsity;
  } cases[] = {
      {"wrong traversal_order", {{0}, {}, {{2}, {4}}}},
      {"wrong traversal_order", {{0, 0}, {}, {{2}, {4}}}},
      {"wrong traversal_order", {{0, 2}, {}, {{2}, {4}}}},
      {"wrong traversal_order", {{0, -1}, {}, {{2}, {4}}}},
      {"wrong traversal_order", {{0, 2, 1}, {1}, {{2}, {2}, {2}}}},
      {"wrong number of dimensions", {{0, 1}, {}, {{2}}}},
      {"wrong block_map", {{0, 1, 2}, {2}, {{2}, {2}, {2}}}},
      {"wrong block_map", {{0, 1, 2}, {-1}, {{2}, {2}, {2}}}},
      {"wrong block_map", {{0, 1, 2}, {1}, {{2}, {2}, {0}}}},
      {"wrong block_map", {{0, 1, 2}, {1}, {{2}, {2}, {3}}}},
      {"wrong block_map", {{0, 1, 2}, {1}, {{2}, {2}, {2, {0}, {}}}}},
      {"wrong block_map", {{0, 1, 2, 3}, {1, 1}, {{2}, {1}, {2}, {2}}}},
      {"wrong block_map", {{0, 1, 2, 3, 4}, {0, 1, 1}, {{2}, {1}, {2}, {2}, {2}}}},
      {"wrong level 1", {{0, 1}, {}, {{2}, {3}}}},
      {"wrong level 1", {{0, 1}, {}, {{2}, {0, {0, 1}, {0}}}}},
      {"wrong level 1", {{0, 1}, {}, {{2}, {0, {1, 1, 1}, {0}}}}},
      {"wrong level 1", {{0, 1}, {}, {{2}, {0, {0, 2, 1}, {0}}}}},
      {"wrong level 1", {{0, 1}, {}, {{2}, {0, {0, 1, 3}, {0, 1}}}}},
      {"wrong level 1", {{0, 1}, {}, {{2}, {0, {0, 1, 1}, {0, 1}}}}},
      {"wrong level 1", {{0, 1}, {}, {{2}, {0, {0, 1, 2}, {0, 4}}}}},
      {"wrong level 1", {{0, 1}, {}, {{2}, {0, {0, 2, 2}, {1, 1}}}}},
      {"wrong level 1", {{0, 1}, {}, {{2}, {0, {0, 2, 2}, {1, 0}}}}},
  };
  for (const auto& c : cases) {
    const auto file = open_sparse(c.sparsity, 1);
    ASSERT_FALSE(file) << c.message;
    EXPECT_THAT(file.error().message, HasSubstr(c.message));
    EXPECT_EQ(file.error().code, ErrorCode::kInvalidModel);
  }
}

}  // namespace
}  // namespace parallax
