// One row times several panels of f32 or f16, for the instruction set of this machine. A single
// panel has too few sums to hide the latency of an addition: two vectors on AVX2. Thread-safe. Sums
// have the bits of matmul_panel().
#pragma once

#include <cstddef>

#include "kernels/cpu/bounds.h"

namespace parallax {

/// activation(A B + bias + residual) for one row of A and full panels of B that follow each other,
/// each [depth, MatMulWidths::panel]. Addresses need the alignment of an element only.
struct MatMulRow {
  const float* a = nullptr;  ///< [depth]
  const void* b = nullptr;   ///< panels of f32 or f16
  std::size_t depth = 0, panels = 0;
  float* c = nullptr;               ///< a row of each panel after that of the one before
  const float* bias = nullptr;      ///< like c, or null
  const float* residual = nullptr;  ///< like c, or null; may be c
  Bounds bounds;
};
/// Multiplies the row with panels of f32.
void matmul_row(const MatMulRow& row);
/// Multiplies the row with panels of f16.
void half_row(const MatMulRow& row);

}  // namespace parallax
