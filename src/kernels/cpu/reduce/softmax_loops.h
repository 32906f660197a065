// Softmax and layer normalisation of f32 rows, for the instruction set of this machine.
// Thread-safe.
#pragma once

#include <cstddef>

namespace parallax {

/// Writes the softmax of each of `rows` rows of `n` elements. x may be y.
void softmax_rows(const float* x, float* y, std::size_t rows, std::size_t n);
/// Writes the softmax of each of `columns` columns of `n` elements that lie `stride` elements
/// apart.
void softmax_columns(const float* x, float* y, std::size_t columns, std::size_t n,
                     std::size_t stride);
/// Writes the logarithms of the softmax of rows. x must not be y.
void log_softmax_rows(const float* x, float* y, std::size_t rows, std::size_t n);

/// (x - mean) / sqrt(variance + epsilon) * scale + bias + residual, row by row; not `centered`:
/// with 0 as the mean. x may be y, and so may the residual.
struct LayerNormRows {
  const float* x = nullptr;
  float* y = nullptr;
  std::size_t rows = 0, n = 0;
  const float* scale = nullptr;  ///< [n]
  const float* bias = nullptr;   ///< [n], or null
  float epsilon = 0;
  float* mean = nullptr;               ///< [rows], or null
  float* inverse_deviation = nullptr;  ///< [rows], or null
  const float* residual = nullptr;     ///< [rows, n], or null
  bool centered = true;
};
void layer_norm_rows(const LayerNormRows& rows);

/// Mean of `n` elements, and 1 / sqrt(variance + epsilon).
struct RowMoments {
  float mean = 0, inverse_deviation = 0;
};
RowMoments row_moments(const float* x, std::size_t n, float epsilon);

}  // namespace parallax
