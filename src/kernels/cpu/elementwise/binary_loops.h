// Arithmetic of two f32 tensors, row by row, for the instruction set of this machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

enum class BinaryFunction : std::uint8_t { kAdd, kSub, kMul, kDiv, kMin, kMax, kPRelu };

/// y[r, c] = f(a[r, c], b[r, c]); y is dense. y may be a or b where these are dense too.
struct BinaryRows {
  const float* a = nullptr;
  const float* b = nullptr;
  float* y = nullptr;
  std::ptrdiff_t a_stride = 0, b_stride = 0;  ///< elements from one row to the next
  bool a_scalar = false, b_scalar = false;    ///< one element serves the whole row
  std::size_t rows = 0, columns = 0;
};
/// Min and Max give NaN where either operand is NaN. PRelu is a, below zero b a.
void apply_binary(BinaryFunction f, const BinaryRows& rows);

}  // namespace parallax
