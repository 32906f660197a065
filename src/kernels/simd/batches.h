// The leading dimensions of matrix products: which matrix of each broadcast operand goes with which
// of the result. Offsets and strides count elements. Plain values.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "parallax/tensor.h"

namespace parallax {

using BatchStrides = std::array<std::int64_t, Dims::kMaxRank>;

/// Strides of an operand [.., matrix of `matrix` elements] against the `batch_rank` leading
/// dimensions of the result.
inline BatchStrides batch_strides(const Dims& operand, std::int64_t matrix, int batch_rank) {
  BatchStrides strides{};
  const int own = std::max(operand.rank() - 2, 0);
  std::int64_t stride = matrix;
  for (int d = own - 1; d >= 0; --d) {
    strides[static_cast<std::size_t>(d + batch_rank - own)] = operand[d] == 1 ? 0 : stride;
    stride *= operand[d];
  }
  return strides;
}

/// Where matrix `batch` of a result with `dims` lies in the operand.
inline std::int64_t batch_offset(const Dims& dims, int batch_rank, const BatchStrides& strides,
                                 std::int64_t batch) {
  std::int64_t offset = 0;
  for (int d = batch_rank - 1; d >= 0; --d) {
    offset += batch % dims[d] * strides[static_cast<std::size_t>(d)];
    batch /= dims[d];
  }
  return offset;
}

}  // namespace parallax
