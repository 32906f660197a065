#include "load/tflite/sparse.h"

#include <fmt/core.h>

#include <cstring>
#include <utility>
#include <vector>

#include "base/status.h"
#include "load/names.h"

namespace parallax {
namespace {

using Places = std::vector<std::int64_t>;

/// Returns the distance, in elements of the dense tensor, of two neighbours on each level: of
/// blocks first, then inside them.
Places level_strides(const tflite_schema::Tensor& tensor, const Dims& dims) {
  const auto map = elements_of(tensor.sparsity()->block_map());
  const auto rank = static_cast<std::size_t>(dims.rank());
  Places strides(rank + map.size());
  std::int64_t stride = 1;
  for (std::size_t i = rank; i-- > 0; stride *= dims[static_cast<int>(i)]) strides[i] = stride;
  for (std::size_t i = 0; i < map.size(); ++i) {
    const auto level = static_cast<flatbuffers::uoffset_t>(rank + i);
    const auto dim = static_cast<std::size_t>(map[i]);
    strides[rank + i] = strides[dim];
    strides[dim] *= tensor.sparsity()->dim_metadata()->Get(level)->dense_size();
  }
  return strides;
}

/// Returns where the elements of a level begin, for those of the level above it.
Places next_level(const Places& above, const tflite_schema::DimensionMetadata& level,
                  std::int64_t stride) {
  Places places;
  if (level.format() == tflite_schema::DimensionType::DENSE) {
    places.reserve(above.size() * static_cast<std::size_t>(level.dense_size()));
    for (const std::int64_t place : above)
      for (std::int64_t i = 0; i < level.dense_size(); ++i) places.push_back(place + i * stride);
    return places;
  }
  const StoredIndices segments(level.array_segments_type(), level.array_segments());
  const StoredIndices indices(level.array_indices_type(), level.array_indices());
  places.reserve(indices.size());
  for (std::size_t k = 0; k < above.size(); ++k)
    for (std::int64_t i = segments[k]; i < segments[k + 1]; ++i)
      places.push_back(above[k] + indices[static_cast<std::size_t>(i)] * stride);
  return places;
}

/// Returns the place of each stored element. No dimension is 0, so that a level has more elements
/// than the one above it, or lists of indices in the file: memory is linear in the file's size.
Places stored_places(const tflite_schema::Tensor& tensor, const Dims& dims) {
  const Places strides = level_strides(tensor, dims);
  const auto order = elements_of(tensor.sparsity()->traversal_order());
  Places places = {0};
  for (std::size_t i = 0; i < order.size(); ++i)
    places = next_level(
        places, *tensor.sparsity()->dim_metadata()->Get(static_cast<flatbuffers::uoffset_t>(i)),
        strides[static_cast<std::size_t>(order[i])]);
  return places;
}

}  // namespace

Result<Constant> dense_constant(const TfliteFile& file, const tflite_schema::Tensor& tensor,
                                LoadQuota& quota) {
  const DType dtype = dtype_of(tensor.type()).value_or(DType::kString);
  const Dims dims = dims_of(tensor);
  const std::int64_t bits = info_of(dtype).bits;
  if (dtype == DType::kString || bits % 8 != 0)
    return unsupported(fmt::format("sparse elements of type {}", to_string(dtype)));
  const auto size = bytes_of(dtype, dims);
  if (!size || !quota.take_bytes(*size))
    return unsupported("a sparse constant with its zeros is too large for its file");
  std::vector<std::byte> bytes(static_cast<std::size_t>(*size));
  if (bytes.empty()) return make_constant(dtype, dims, bytes);
  const auto width = static_cast<std::size_t>(bits / 8);
  const std::byte* next = constant_bytes(file, tensor).data();
  for (const std::int64_t place : stored_places(tensor, dims)) {
    std::memcpy(bytes.data() + static_cast<std::size_t>(place) * width, next, width);
    next += width;
  }
  return make_constant(dtype, dims, bytes);
}

}  // namespace parallax
