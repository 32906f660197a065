#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "base/status.h"
#include "load/names.h"
#include "load/tflite/sparse.h"
#include "load/tflite/verify.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;

using Sizes = std::vector<std::int64_t>;

/// Returns the sizes of the dimensions, then those of the blocks' dimensions, by which the first
/// are divided; nullopt if blocks do not fit.
std::optional<Sizes> sizes_in_blocks(const schema::Tensor& tensor) {
  const auto shape = elements_of(tensor.shape());
  const auto map = elements_of(tensor.sparsity()->block_map());
  Sizes sizes(shape.begin(), shape.end());
  std::vector<bool> mapped(shape.size());
  for (std::size_t i = 0; i < map.size(); ++i) {
    const auto level = static_cast<flatbuffers::uoffset_t>(shape.size() + i);
    const schema::DimensionMetadata& block = *tensor.sparsity()->dim_metadata()->Get(level);
    const auto dim = static_cast<std::size_t>(map[i]);  // a negative one becomes too large
    const std::int64_t size = block.dense_size();
    if (dim >= shape.size() || mapped[dim] || size <= 0 || sizes[dim] % size != 0 ||
        block.format() != schema::DimensionType::DENSE) {
      return std::nullopt;
    }
    mapped[dim] = true;
    sizes[dim] /= size;
    sizes.push_back(size);
  }
  return sizes;
}

/// Whether the levels are the tensor's dimensions in any order, then those of blocks in theirs.
bool is_traversal(std::span<const std::int32_t> order, std::size_t rank) {
  std::vector<bool> seen(rank);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto dim = static_cast<std::size_t>(order[i]);
    if (i >= rank) {
      if (dim != i) return false;
      continue;
    }
    if (dim >= rank || seen[dim]) return false;
    seen[dim] = true;
  }
  return true;
}

/// Whether segment k has the indices from segments[k] up to segments[k + 1], which ascend within it
/// and are below `size`.
bool are_segments(const StoredIndices& segments, const StoredIndices& indices, std::int64_t size) {
  std::int64_t begin = 0;
  if (segments[0] != 0) return false;
  for (std::size_t k = 1; k < segments.size(); ++k) {
    const std::int64_t end = segments[k];
    if (end < begin || end > static_cast<std::int64_t>(indices.size())) return false;
    std::int64_t last = -1;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t index = indices[static_cast<std::size_t>(i)];
      if (index <= last || index >= size) return false;
      last = index;
    }
    begin = end;
  }
  return begin == static_cast<std::int64_t>(indices.size());
}

/// Returns the elements that a level has for `above` of the level above it; nullopt if its
/// parameters are wrong. Errors: as TfliteChecks::take().
Result<std::optional<std::int64_t>> count_level(TfliteChecks& checks,
                                                const schema::DimensionMetadata& level,
                                                std::int64_t above, std::int64_t size) {
  if (level.format() == schema::DimensionType::DENSE) {
    if (level.dense_size() != size) return std::nullopt;
    return checked_mul(above, size);
  }
  if (level.format() != schema::DimensionType::SPARSE_CSR) return std::nullopt;
  const StoredIndices segments(level.array_segments_type(), level.array_segments());
  const StoredIndices indices(level.array_indices_type(), level.array_indices());
  PX_RETURN_IF_ERROR(checks.take(segments.size() + indices.size()));
  if (segments.size() == 0 || static_cast<std::int64_t>(segments.size()) - 1 != above)
    return std::nullopt;
  if (!are_segments(segments, indices, size)) return std::nullopt;
  return static_cast<std::int64_t>(indices.size());
}

}  // namespace

Result<std::int64_t> count_stored(TfliteChecks& checks, const schema::Tensor& tensor,
                                  std::string_view label) {
  const schema::SparsityParameters& sparsity = *tensor.sparsity();
  const std::size_t rank = length_of(tensor.shape());
  const std::size_t blocks = length_of(sparsity.block_map());
  const auto order = elements_of(sparsity.traversal_order());
  const auto wrong = [&](std::string_view field) {
    return invalid_model(fmt::format("the sparse {} has a wrong {}", label, field));
  };
  if (blocks > rank) return wrong("block_map");
  if (order.size() != rank + blocks || !is_traversal(order, rank)) return wrong("traversal_order");
  if (length_of(sparsity.dim_metadata()) != order.size()) return wrong("number of dimensions");
  const auto sizes = sizes_in_blocks(tensor);
  if (!sizes) return wrong("block_map");
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& level = *sparsity.dim_metadata()->Get(static_cast<flatbuffers::uoffset_t>(i));
    const std::int64_t size = (*sizes)[static_cast<std::size_t>(order[i])];
    PX_ASSIGN(const auto count, count_level(checks, level, elements, size));
    if (!count) return wrong(fmt::format("level {}", i));
    elements = *count;
  }
  return elements;
}

}  // namespace parallax
