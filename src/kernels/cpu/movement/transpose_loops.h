// Transposes a matrix of elements of 1, 2, 4 or 8 bytes, for the instruction set of this machine.
// Thread-safe.
#pragma once

#include <cstddef>

namespace parallax {

/// Operands of y[r * y_stride + c] = x[c * x_stride + r] for r < rows, c < columns. Rows and
/// columns are those of y; strides and sizes count elements of `element_bytes` (1, 2, 4 or 8). x
/// and y must not overlap and may have any alignment.
struct TransposeBlock {
  const std::byte* x = nullptr;
  std::byte* y = nullptr;
  std::size_t x_stride = 0, y_stride = 0;
  std::size_t rows = 0, columns = 0;
  std::size_t element_bytes = 4;
};
/// Writes the transposed block; touches no element of y outside it. Elements go in squares of 16 by
/// 16, so that cache lines are used completely while they are in the cache.
void transpose_block(const TransposeBlock& block);

}  // namespace parallax
