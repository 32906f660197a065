// The loops of cosine attention around its two products, for the instruction set of this machine.
// CosineAttention scales Q and K to unit rows, multiplies them and weighs V with the softmax of the
// scores. Thread-safe.
#pragma once

#include <cstddef>

namespace parallax {

/// Operands of y[r, i] = x[r, i] * factor / max(|x[r]|, epsilon), y dense. A row shorter than
/// epsilon is divided by epsilon, so that zeros stay zeros if epsilon is not 0. |x[r]| is the
/// Euclidean length, whose squares are summed in one vector per row.
struct UnitRows {
  /// [rows, n]; rows may have any alignment of a float.
  const float* x = nullptr;
  std::size_t stride = 0;  ///< elements from one row of x to the next
  /// [rows, n], dense. It may be x if x is dense too.
  float* y = nullptr;
  std::size_t rows = 0, n = 0;
  /// For Q, `factor` is the head's scale of scores (input 3 of the node), for K it is 1; `epsilon`
  /// is the attribute.
  float factor = 1, epsilon = 0;
};
/// Lengths of a vector of rows are turned into factors together.
void unit_rows(const UnitRows& rows);

/// Rows of scores, which Softmax(row + bias + mask) replaces in place. Addresses need the alignment
/// of a float only.
struct CosineScores {
  float* x = nullptr;      ///< [rows, n]
  std::size_t stride = 0;  ///< from one row to the next: n rounded up to whole vectors at least
  /// Queries and keys of a window.
  std::size_t rows = 0, n = 0;
  const float* bias = nullptr;  ///< [rows, n], dense; or null
  const float* mask = nullptr;  ///< [rows, n], dense; or null
};
/// Computes the softmax of each row. Elements between n and the stride are unspecified afterwards.
/// Rows of a few vectors stay in registers. Divides by the sum as a product with its reciprocal.
void cosine_weights(const CosineScores& scores);

}  // namespace parallax
