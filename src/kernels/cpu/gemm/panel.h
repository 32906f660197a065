// The interface of the micro-kernels of matrix products: rows of A times one panel of B, a few
// vectors wide. Depth goes in steps of four bytes: an f32, two bf16 or four bytes that follow each
// other in depth, the first in the low half. Sums have four bytes too. Plain values; callers own
// what they point to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/bounds.h"

namespace parallax {

/// Bytes of a step of depth, and of a sum.
inline constexpr std::int64_t kStepBytes = 4;
/// A step, for offsets: a + k is k steps from a on.
struct Step {
  std::byte bytes[kStepBytes];
};

/// How wide panels are for a type and the instruction set of this machine, in columns: a full one,
/// and the vector that every panel is a multiple of. `vector` divides `panel`.
struct MatMulWidths {
  std::size_t panel;
  std::size_t vector;
};

/// Columns of A that lie side by side. Windows of images that are read in place have one for each
/// row of the filter.
struct MatMulSegment {
  std::ptrdiff_t offset = 0;  ///< steps from the beginning of a row
  /// Steps of the segment.
  std::size_t depth = 0;
};

/// How sums of integers are converted, column by column. With a scale, to real numbers: sum * scale
/// + offset. With `bytes`, these are clamped to [low, high] and rounded to the nearest, ties to
/// even. Arrays are readable up to a multiple of MatMulWidths::vector columns.
struct Requantise {
  const float* scale = nullptr;   ///< [columns]; null: sums stay i32
  const float* offset = nullptr;  ///< [columns], if there is a scale
  bool bytes = false;             ///< C has elements of a byte
  float low = 0, high = 0;        ///< bounds before `zero` is added
  /// Added to rounded numbers: before, it would make an even number of an odd one in the middle.
  std::int32_t zero = 0;
};

/// C[rows, columns] (+)= A[rows, depth] B[depth, columns]; depth and strides count steps and sums.
/// Operands need the alignment of an element only, and C overlaps none of them but for `residual`.
/// Elements of C past `columns` are not written.
struct MatMulPanel {
  /// [rows, depth] steps, `lda` from row to row.
  const void* a = nullptr;
  std::size_t lda = 0;  ///< from one row of A to the next
  /// The columns of A in their order, `depth` together; null: those from `a` on. Not for bf16.
  const MatMulSegment* segments = nullptr;
  std::size_t segment_count = 0;
  /// Rows of B are readable up to a multiple of MatMulWidths::vector columns. [depth, columns]
  /// steps, `ldb` from row to row.
  const void* b = nullptr;
  std::size_t ldb = 0;
  /// [rows, columns] sums, or bytes with Requantise::bytes; `ldc` elements from row to row.
  void* c = nullptr;
  std::size_t ldc = 0;
  /// One row or more, which micro-kernels cut into groups. `depth` is the sum over the segments.
  std::size_t rows = 0, depth = 0;
  std::size_t columns = 0;     ///< 1 to MatMulWidths::panel
  const void* bias = nullptr;  ///< [columns], added to each row unless `accumulate`; or null
  /// [rows], added to all sums of a row; or null. For products of bytes.
  const std::int32_t* row_start = nullptr;
  bool accumulate = false;  ///< add to what C holds
  /// [rows, columns], `ldc` from row to row, added at the end if GemmType::finishes; or null. May
  /// be C unless `accumulate`.
  const float* residual = nullptr;
  Bounds bounds;                           ///< limits of C after that, if GemmType::finishes
  const Requantise* requantise = nullptr;  ///< for bytes, without `accumulate`; or null
  /// As many bytes as B has here that will be wanted next; or null. A hint for prefetches: it is
  /// not dereferenced.
  const void* next_b = nullptr;
};

/// A series of products of the same sizes: their number, and the elements from an operand of one to
/// that of the next. A residual steps as C.
struct PanelSteps {
  std::size_t count = 0, a = 0, b = 0, c = 0, bias = 0;
};

}  // namespace parallax
