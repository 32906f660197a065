// The inner loops of matrix products: rows of A times one panel of B, a few vectors wide.
#pragma once

#include <cstddef>

namespace parallax {

/// How wide panels are for the instruction set of this machine, in columns: a full one, and the
/// vector that every panel is a multiple of.
struct MatMulWidths {
  std::size_t panel;
  std::size_t vector;
};
MatMulWidths matmul_widths();

/// Columns of A that lie side by side.
struct MatMulSegment {
  std::ptrdiff_t offset = 0;  ///< elements from the beginning of a row
  std::size_t depth = 0;
};

/// C[rows, columns] (+)= A[rows, depth] B[depth, columns], f32.
struct MatMulPanel {
  const float* a = nullptr;
  std::size_t lda = 0;  ///< elements from one row of A to the next
  /// The columns of A in their order, `depth` together; null: those from `a` on.
  const MatMulSegment* segments = nullptr;
  std::size_t segment_count = 0;
  /// Rows of B are readable up to a multiple of MatMulWidths::vector columns.
  const float* b = nullptr;
  std::size_t ldb = 0;
  float* c = nullptr;
  std::size_t ldc = 0;
  std::size_t rows = 0, depth = 0;
  std::size_t columns = 0;      ///< 1 to MatMulWidths::panel
  const float* bias = nullptr;  ///< [columns], added to each row where not `accumulate`; or null
  bool accumulate = false;      ///< add to what C holds
  bool relu = false;            ///< C = max(C, 0) at the end
  /// As many bytes as B has here that will be wanted next; or null.
  const float* next_b = nullptr;
};
void matmul_panel(const MatMulPanel& panel);

}  // namespace parallax
