// Tensors that a kernel reads or writes as if they had been transposed. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "parallax/tensor.h"

namespace parallax {

/// A dense tensor seen through a permutation of its axes. Element (i0, i1, ..) of the view is at
/// offset sum of i[axis] * strides[axis] of the stored tensor.
struct Permuted {
  Dims dims;                                           ///< sizes of the permuted axes
  std::array<std::int64_t, Dims::kMaxRank> strides{};  ///< elements; 0 from the rank on
};

/// Returns Transpose(x, perm) as a view of a dense x with dimensions `stored`: axis i of the result
/// is axis perm[i] of x. An empty `perm` gives x itself. For operands that a kernel reads
/// transposed. REQUIRES: `perm` is empty or a permutation; negative axes are counted from the end.
inline Permuted permuted(const Dims& stored, std::span<const std::int64_t> perm) {
  // Row-major strides of the stored tensor.
  std::array<std::int64_t, Dims::kMaxRank> dense{};
  std::int64_t stride = 1;
  for (int axis = stored.rank() - 1; axis >= 0; --axis) {
    dense[static_cast<std::size_t>(axis)] = stride;
    stride *= stored[axis];
  }
  Permuted result;
  for (std::size_t i = 0; i < static_cast<std::size_t>(stored.rank()); ++i) {
    std::int64_t axis = perm.empty() ? static_cast<std::int64_t>(i) : perm[i];
    if (axis < 0) axis += stored.rank();
    result.dims.push_back(stored[static_cast<int>(axis)]);
    result.strides[i] = dense[static_cast<std::size_t>(axis)];
  }
  return result;
}

/// Returns the view x for which Transpose(x, perm) is dense with dimensions `stored`: the inverse
/// of permuted(). For results that a kernel writes transposed: it computes x, memory holds the
/// transpose. REQUIRES: as permuted().
inline Permuted unpermuted(const Dims& stored, std::span<const std::int64_t> perm) {
  // Transposing by the inverse permutation undoes Transpose.
  std::array<std::int64_t, Dims::kMaxRank> inverse{};
  for (std::size_t i = 0; i < perm.size(); ++i) {
    const std::int64_t axis = perm[i] < 0 ? perm[i] + stored.rank() : perm[i];
    inverse[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(i);
  }
  return permuted(stored, std::span(inverse).first(perm.size()));
}

}  // namespace parallax
