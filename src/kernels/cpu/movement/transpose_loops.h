// Transposing a matrix of 1, 4 or 8-byte elements, for the instruction set of this machine.
#pragma once

#include <cstddef>

namespace parallax {

/// y[r * y_stride + c] = x[c * x_stride + r] for r < rows, c < columns; strides and sizes in
/// elements of `element_bytes` (1, 2, 4 or 8). x and y do not overlap.
struct TransposeBlock {
  const std::byte* x = nullptr;
  std::byte* y = nullptr;
  std::size_t x_stride = 0, y_stride = 0;
  std::size_t rows = 0, columns = 0;
  std::size_t element_bytes = 4;
};
void transpose_block(const TransposeBlock& block);

}  // namespace parallax
