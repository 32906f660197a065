// Products of matrices that are both computed at run time. matmul_block() multiplies two of f32,
// panel after panel of the right one. Panels that many rows use are packed into scratch first,
// block by block, so that the inner loops read them in order; few rows read B in place.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/elementwise/unary_loops.h"
#include "kernels/cpu/gemm/gemm_type.h"
#include "parallax/dtype.h"

namespace parallax {

/// Operands of C[rows, columns] (+)= A[rows, depth] B[depth, columns]; strides count elements.
/// depth > 0.
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
  /// Precision that A and B are rounded to, if there are enough rows to pay for it.
  Precision precision = Precision::kF32;
};

/// Returns the bytes of scratch that matmul_block() needs, whatever the sizes.
std::int64_t matmul_block_scratch_bytes(Precision precision = Precision::kF32);
/// Computes the product, then applies the activation. `scratch` is at least as large as above,
/// aligned to a cache line, and not shared by threads.
void matmul_block(const MatMulBlock& block, std::span<std::byte> scratch);

/// B [depth, columns] f32, or its transpose, in rows `stride` elements apart.
struct ComputedMatrix {
  const float* from = nullptr;
  std::int64_t stride = 0;
  bool transposed = false;
  std::int64_t depth = 0, columns = 0;
};
/// Packs B as panels of the type, one after the other, each [steps of the depth, its columns
/// rounded up to a vector]. If B is transposed and the type converts, `turned` is a buffer for
/// one panel; it may be B itself, which is overwritten then.
void pack_panels(const GemmType& type, const ComputedMatrix& b, void* turned, void* to);

/// Operands of C[rows, columns] = A[rows, steps] B, whose panels lie as pack_panels() leaves them.
struct PanelsProduct {
  const void* a = nullptr;  ///< rows one after the other
  std::int64_t steps = 0;
  const void* b = nullptr;
  void* c = nullptr;
  std::int64_t c_stride = 0, rows = 0, columns = 0;
};
/// Computes the product, panel by panel.
void multiply_panels(const GemmType& type, const PanelsProduct& product);

}  // namespace parallax
