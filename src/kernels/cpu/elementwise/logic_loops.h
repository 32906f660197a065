// Comparisons of f32, logic of bools and choices of four bytes, for the instruction set of this
// machine. A bool is true where its byte is not 0; results are 0 or 1.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

enum class LogicFunction : std::uint8_t {
  kEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kAnd,
  kOr,
  kNot,
  kWhere,  ///< a ? b : c, of elements of four bytes
};

/// n elements; operand i has one where bit i of `single` is set. y may be an operand of elements of
/// its size.
struct LogicRow {
  const std::byte* operands[3] = {};
  std::byte* y = nullptr;
  std::size_t n = 0;
  std::uint32_t single = 0;
};
void apply_logic(LogicFunction f, const LogicRow& row);

}  // namespace parallax
