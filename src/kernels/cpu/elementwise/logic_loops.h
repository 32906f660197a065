// Comparisons of f32, logic of bools and choices of four bytes, for the instruction set of this
// machine. A bool is true if its byte is not 0; results of comparisons and logic are bools of 0 or
// 1. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// Functions of up to three operands a, b, c. Comparisons read f32, and any comparison with NaN is
/// false; logic reads bools.
enum class LogicFunction : std::uint8_t {
  kEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kAnd,
  kOr,
  kNot,
  kWhere,  ///< a ? b : c; a is a bool, b and c are elements of four bytes of any dtype
};

/// Operands and result, dense: `n` elements each, but one for operand i if bit i of `single` is
/// set. y may be an operand whose elements have the size of its own. Addresses have the alignment
/// of their elements: a byte for bools, four bytes for f32 and the choices of kWhere.
struct LogicRow {
  /// a, b and c; those that the function lacks are null.
  const std::byte* operands[3] = {};
  std::byte* y = nullptr;
  /// Elements of y.
  std::size_t n = 0;
  std::uint32_t single = 0;
};
/// Writes f(operands) to y, element by element. Reads and writes no element from the n-th on. An
/// operand must not overlap y in part.
void apply_logic(LogicFunction f, const LogicRow& row);

}  // namespace parallax
