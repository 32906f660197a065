// The loops of cosine attention around its two products, for the instruction set of this machine.
#pragma once

#include <cstddef>

namespace parallax {

/// Operands of y[r, i] = x[r, i] * factor / max(|x[r]|, epsilon), y dense. A row shorter than
/// epsilon is divided by epsilon, so that zeros stay zeros if epsilon is not 0.
struct UnitRows {
  const float* x = nullptr;
  std::size_t stride = 0;  ///< elements from one row of x to the next
  float* y = nullptr;
  std::size_t rows = 0, n = 0;
  float factor = 1, epsilon = 0;
};
void unit_rows(const UnitRows& rows);

/// Rows of scores, which Softmax(row + bias + mask) replaces in place.
struct CosineScores {
  float* x = nullptr;      ///< [rows, n]
  std::size_t stride = 0;  ///< from one row to the next: n rounded up to whole vectors at least
  std::size_t rows = 0, n = 0;
  const float* bias = nullptr;  ///< [rows, n], dense; or null
  const float* mask = nullptr;  ///< [rows, n], dense; or null
};
/// Computes the softmax of each row. Elements between n and the stride are unspecified afterwards.
void cosine_weights(const CosineScores& scores);

}  // namespace parallax
