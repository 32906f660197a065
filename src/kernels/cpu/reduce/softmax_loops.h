// Softmax and layer normalisation of f32 rows, for the instruction set of this machine.
// Thread-safe. Addresses need the alignment of a float only, and no element past a row is read or
// written. Sums are cut by vectors, so bits depend on the instruction set and n alone.
#pragma once

#include <cstddef>

namespace parallax {

/// Writes the softmax of each of `rows` rows of `n` elements. x may be y. Each row is e^(x -
/// largest) divided by its sum, as a product with the reciprocal. Rows are dense; those of 2, 3 and
/// 4 elements are processed a vector of rows at a time, those of up to four vectors in registers. A
/// NaN, or only elements of -inf, make the whole row NaN.
void softmax_rows(const float* x, float* y, std::size_t rows, std::size_t n);
/// Writes the softmax of each of `columns` columns of `n` elements that lie `stride` elements
/// apart. Passes over a column: the largest, exponentials, scaling. x may be y. REQUIRES: stride >=
/// columns; n > 0.
void softmax_columns(const float* x, float* y, std::size_t columns, std::size_t n,
                     std::size_t stride);
/// Writes the logarithms of the softmax of rows. x must not be y. y holds exponentials in between.
void log_softmax_rows(const float* x, float* y, std::size_t rows, std::size_t n);

/// (x - mean) / sqrt(variance + epsilon) * scale + bias + residual, row by row; not `centered`:
/// with 0 as the mean. x may be y, and so may the residual. The variance is the mean of squared
/// distances. Rows whose sums overflow f32 are computed in f64.
struct LayerNormRows {
  /// [rows, n], dense.
  const float* x = nullptr;
  /// [rows, n], dense.
  float* y = nullptr;
  std::size_t rows = 0, n = 0;
  const float* scale = nullptr;  ///< [n]
  const float* bias = nullptr;   ///< [n], or null
  /// Added to the variance, as the attribute epsilon.
  float epsilon = 0;
  float* mean = nullptr;               ///< [rows], or null
  float* inverse_deviation = nullptr;  ///< [rows], or null
  const float* residual = nullptr;     ///< [rows, n], or null
  bool centered = true;
};
/// Computes all rows.
void layer_norm_rows(const LayerNormRows& rows);

/// Mean of `n` elements, and 1 / sqrt(variance + epsilon).
struct RowMoments {
  float mean = 0, inverse_deviation = 0;
};
/// Returns the moments of contiguous elements; the variance is divided by n.
RowMoments row_moments(const float* x, std::size_t n, float epsilon);

}  // namespace parallax
