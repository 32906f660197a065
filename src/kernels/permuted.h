// Tensors that a kernel reads or writes as if they had been transposed. Pure. The transpose is then
// a matter of strides, and no copy is made. Kernels of matrix products and attention use it, and so
// do delegates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "parallax/tensor.h"

namespace parallax {

/// A dense tensor seen through a permutation of its axes. Element (i0, i1, ..) of the view is at
/// offset sum of i[axis] * strides[axis] of the stored tensor. The view owns no memory and holds no
/// address: offsets are added to the address of the tensor. Strides are those of a dense tensor, in
/// another order.
struct Permuted {
  Dims dims;                                           ///< sizes of the permuted axes
  std::array<std::int64_t, Dims::kMaxRank> strides{};  ///< elements; 0 from the rank on
};

/// Returns Transpose(x, perm) as a view of a dense x with dimensions `stored`: axis i of the result
/// is axis perm[i] of x. An empty `perm` gives x itself. For operands that a kernel reads
/// transposed. Example: stored [2, 3, 4] with perm [0, 2, 1] has dims [2, 4, 3] and strides [12, 1,
/// 4]. REQUIRES: `perm` is empty or a permutation; negative axes are counted from the end.
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
/// transpose. Example: stored [2, 4, 3] with perm [0, 2, 1] has dims [2, 3, 4] and strides [12, 1,
/// 3]. REQUIRES: as permuted().
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
