// Arithmetic of two f32 tensors, row by row, for the instruction set of this machine.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

enum class BinaryFunction : std::uint8_t { kAdd, kSub, kMul, kDiv, kMin, kMax, kPRelu };

/// Operands of y[r, c] = f(a[r, c], b[r, c]). y is dense, and may be a or b if these are dense too;
/// otherwise it must not overlap them.
struct BinaryRows {
  const float* a = nullptr;
  const float* b = nullptr;
  float* y = nullptr;
  std::ptrdiff_t a_stride = 0, b_stride = 0;  ///< elements from one row to the next
  bool a_scalar = false, b_scalar = false;    ///< one element serves the whole row
  std::size_t rows = 0, columns = 0;
};
/// Computes all rows. Min and Max return NaN if either operand is NaN. PRelu is a, or b a if a < 0.
void apply_binary(BinaryFunction f, const BinaryRows& rows);

}  // namespace parallax
