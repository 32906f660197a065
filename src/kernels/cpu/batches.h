// The leading dimensions of matrix products, which count matrices and broadcast as numpy.matmul's
// do: which matrix of each operand goes with which of the result. Offsets and strides count
// elements. Thread-safety: plain values and pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/permuted.h"
#include "parallax/tensor.h"

namespace parallax {

/// Elements from one matrix of an operand to the next along each leading axis of the result,
/// outermost first; 0 along axes that the operand broadcasts. Entries from `batch_rank` on are
/// unused.
using BatchStrides = std::array<std::int64_t, Dims::kMaxRank>;

/// Returns the strides of a dense operand, whose last two axes are a matrix of `matrix` elements,
/// against the `batch_rank` leading axes of the result. Leading axes are aligned at their ends. An
/// operand of rank 1 or 2 has no leading axes, so all its strides are 0. REQUIRES: the operand has
/// at most batch_rank + 2 axes, and broadcasts.
inline BatchStrides batch_strides(const Dims& operand, std::int64_t matrix, int batch_rank) {
  BatchStrides strides{};
  // Leading axes of the operand; a vector has none.
  const int own = std::max(operand.rank() - 2, 0);
  std::int64_t stride = matrix;
  for (int d = own - 1; d >= 0; --d) {
    strides[static_cast<std::size_t>(d + batch_rank - own)] = operand[d] == 1 ? 0 : stride;
    stride *= operand[d];
  }
  return strides;
}

/// Layout of an operand: matrices of the same size at any strides. Element (i, j) of matrix b lies
/// at batch_offset(b) + i * row_stride + j * column_stride.
struct MatrixOperand {
  /// Size of one matrix, in elements.
  std::int64_t rows = 1, columns = 1;
  /// Distances inside a matrix. One of the two is 1 in a dense matrix or its transpose.
  std::int64_t row_stride = 0, column_stride = 1;
  /// All 0: every matrix of the result reads the same one. One for each leading axis of the result.
  BatchStrides batches{};
};

/// Returns the layout of a transposed operand: its last two axes, after the permutation, are the
/// rows and columns. An untransposed operand is permuted(dims, {}). REQUIRES: rank 2 or more, at
/// most batch_rank + 2.
inline MatrixOperand matrix_operand(const Permuted& operand, int batch_rank) {
  const auto own = static_cast<std::size_t>(operand.dims.rank() - 2);
  MatrixOperand matrix;
  matrix.rows = operand.dims[operand.dims.rank() - 2];
  matrix.columns = operand.dims[operand.dims.rank() - 1];
  matrix.row_stride = operand.strides[own];
  matrix.column_stride = operand.strides[own + 1];
  for (std::size_t d = 0; d < own; ++d)
    matrix.batches[d + static_cast<std::size_t>(batch_rank) - own] =
        operand.dims[static_cast<int>(d)] == 1 ? 0 : operand.strides[d];
  return matrix;
}

/// Returns the offset in the operand, in elements, of the matrix that matrix `batch` of a result
/// with `dims` reads. The first `batch_rank` axes of `dims` count matrices, in row-major order.
/// Divides once per axis, so it is called per matrix, not per row. REQUIRES: 0 <= batch < the
/// product of these dimensions.
inline std::int64_t batch_offset(const Dims& dims, int batch_rank, const BatchStrides& strides,
                                 std::int64_t batch) {
  // The last axis of the batch is the fastest.
  std::int64_t offset = 0;
  for (int d = batch_rank - 1; d >= 0; --d) {
    offset += batch % dims[d] * strides[static_cast<std::size_t>(d)];
    batch /= dims[d];
  }
  return offset;
}

}  // namespace parallax
