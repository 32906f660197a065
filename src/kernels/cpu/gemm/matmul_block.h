// Products of matrices that are both computed at run time. matmul_block() multiplies two of f32,
// panel after panel of the right one. Panels that are not read in place are packed into scratch
// first, block by block, so that the inner loops read them in order.
// pack_panels() and multiply_panels() are its two halves, for kernels that multiply one B several
// times or with operands of another GemmType. Called by kernels of the CPU inside run_tile().
// Thread-safe. Functions run on the calling thread and allocate no memory.
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
  /// [rows, depth], lda elements from row to row.
  const float* a = nullptr;
  std::int64_t lda = 0;
  /// [depth, columns], ldb elements from row to row.
  const float* b = nullptr;
  std::int64_t ldb = 0;
  bool b_transposed = false;  ///< B lies as [columns, depth], ldb from column to column
  /// [rows, columns], ldc elements from row to row; must not overlap A or B.
  float* c = nullptr;
  std::int64_t ldc = 0;
  /// Sizes in elements. `rows` and `columns` may be 0.
  std::int64_t rows = 0, depth = 0, columns = 0;
  const float* bias = nullptr;  ///< [columns], added to each row; or null
  bool accumulate = false;      ///< add to what C holds. REQUIRES: no bias
  /// Applied to complete sums, bias included.
  Unary activation;
  /// Precision that A and B are rounded to, if there are enough rows to pay for it. Fewer than 13
  /// rows are multiplied in f32.
  Precision precision = Precision::kF32;
};

/// Returns the bytes of scratch that matmul_block() needs, whatever the sizes. The result depends
/// on the machine's vectors, and is the larger of those of f32 and of `precision`.
std::int64_t matmul_block_scratch_bytes(Precision precision = Precision::kF32);
/// Computes the product, then applies the activation. `scratch` is at least as large as above,
/// aligned to a cache line, and not shared by threads. A panel of B is read in place if the product
/// is computed in f32, B is not transposed, the columns of the panel fill whole vectors, and one of
/// these holds: there are fewer than 13 rows; ldb is the width of the panel; the panel fits half
/// the first-level cache. Other panels are packed in blocks of at most 256 steps of depth. Blocks
/// are summed in ascending order.
void matmul_block(const MatMulBlock& block, std::span<std::byte> scratch);

/// B [depth, columns] f32, or its transpose, in rows `stride` elements apart. `stride` counts
/// elements from one row of `from` to the next, a row being a column of B if it is transposed.
struct ComputedMatrix {
  const float* from = nullptr;
  std::int64_t stride = 0;
  bool transposed = false;
  std::int64_t depth = 0, columns = 0;
};
/// Packs B as panels of the type, one after the other, each [steps, its columns rounded up to a
/// vector], where `steps` is type.steps(depth) and a step has four bytes. `to` has room for steps *
/// columns of them, columns rounded up to a vector. If B is transposed and type.converts(),
/// `turned` has room for one panel: steps * the columns of the widest panel. It may be B itself,
/// which is overwritten then. In all other cases it is not accessed. REQUIRES: `type` is a
/// result of gemm_type(); the types of bytes and f16 are not supported.
void pack_panels(const GemmType& type, const ComputedMatrix& b, void* turned, void* to);

/// Operands of C[rows, columns] = A[rows, steps] B. B are the panels that pack_panels() makes.
/// Elements of C are f32. If type.converts(), rows of A are those that GemmType::convert_rows()
/// writes; otherwise they are f32.
struct PanelsProduct {
  /// Rows one after the other, each of `steps` steps.
  const void* a = nullptr;
  /// Steps of four bytes that make the depth.
  std::int64_t steps = 0;
  const void* b = nullptr;
  void* c = nullptr;
  std::int64_t c_stride = 0;  ///< elements from one row of C to the next
  std::int64_t rows = 0, columns = 0;
};
/// Computes the product, panel by panel. Overwrites C, without bias or activation.
void multiply_panels(const GemmType& type, const PanelsProduct& product);

}  // namespace parallax
