// Arithmetic of two f32 tensors, row by row, for the instruction set of this machine. Thread-safe.
// Kernels of Add, Mul and so on call it for blocks of a StridedLoop. A vector of columns is
// computed at a time, the last one masked: no element past a row is read or written. Results have
// the bits of IEEE 754 operations, on every target.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// Functions are named as the ONNX operators.
enum class BinaryFunction : std::uint8_t { kAdd, kSub, kMul, kDiv, kMin, kMax, kPRelu };

/// Operands of y[r, c] = f(a[r, c], b[r, c]). y is dense, and may be a or b if these are dense too;
/// otherwise it must not overlap them.
struct BinaryRows {
  /// First elements of row 0; addresses need the alignment of a float only.
  const float* a = nullptr;
  const float* b = nullptr;
  float* y = nullptr;
  /// Elements from one row to the next. 0 repeats a row.
  std::ptrdiff_t a_stride = 0, b_stride = 0;
  bool a_scalar = false, b_scalar = false;  ///< one element serves the whole row
  /// Size of y, in elements. Either may be 0.
  std::size_t rows = 0, columns = 0;
};
/// Computes all rows. Min and Max return NaN if either operand is NaN. PRelu is a, or b a if a < 0.
void apply_binary(BinaryFunction f, const BinaryRows& rows);

}  // namespace parallax
