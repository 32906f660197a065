// One matrix product of two f32 matrices in memory, panel after panel of the right one. Panels that
// many rows use are copied to scratch first, block by block, so that the inner loops read them in
// order; few rows read B where it lies. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/elementwise/unary_loops.h"
#include "parallax/dtype.h"

namespace parallax {

/// C[rows, columns] (+)= A[rows, depth] B[depth, columns]; strides count elements. depth > 0.
struct MatMulBlock {
  const float* a = nullptr;
  std::int64_t lda = 0;
  const float* b = nullptr;
  std::int64_t ldb = 0;
  bool b_transposed = false;  ///< B lies as [columns, depth], ldb from column to column
  float* c = nullptr;
  std::int64_t ldc = 0;
  std::int64_t rows = 0, depth = 0, columns = 0;
  const float* bias = nullptr;  ///< [columns], added to each row; or null
  bool accumulate = false;      ///< add to what C holds; then without bias
  Unary activation;
  /// What A and B are rounded to, where there are enough rows to pay for it.
  Precision precision = Precision::kF32;
};

/// Scratch that matmul_block needs, in bytes.
std::int64_t matmul_block_scratch_bytes(Precision precision = Precision::kF32);
void matmul_block(const MatMulBlock& block, std::span<std::byte> scratch);

}  // namespace parallax
