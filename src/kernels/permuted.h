// Tensors that a kernel reads or writes as if they had been transposed. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "parallax/tensor.h"

namespace parallax {

/// A dense tensor seen through a permutation of its axes.
struct Permuted {
  Dims dims;
  std::array<std::int64_t, Dims::kMaxRank> strides{};  ///< elements
};

/// Transpose(x, perm) of a dense x of `stored` dims; without a perm x itself. REQUIRES: `perm` is
/// empty or a permutation, negative axes counted from the end.
inline Permuted permuted(const Dims& stored, std::span<const std::int64_t> perm) {
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

/// The x of which Transpose(x, perm) is dense and of `stored` dims.
inline Permuted unpermuted(const Dims& stored, std::span<const std::int64_t> perm) {
  std::array<std::int64_t, Dims::kMaxRank> inverse{};
  for (std::size_t i = 0; i < perm.size(); ++i) {
    const std::int64_t axis = perm[i] < 0 ? perm[i] + stored.rank() : perm[i];
    inverse[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(i);
  }
  return permuted(stored, std::span(inverse).first(perm.size()));
}

}  // namespace parallax
