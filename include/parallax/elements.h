// Elements of any type as numbers and back: the one place that knows their bits. Numbers are of the
// native types (dtypes.def). Elements below a byte are packed, the first in the low bits. Pure
// functions; memory may lie anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "parallax/dtype.h"

namespace parallax {

/// How numbers become elements that do not have them.
struct Narrowing {
  /// To the scales of kF8E8M0, which are powers of two.
  enum class Scale : std::uint8_t {
    kUp,       ///< away from zero
    kDown,     ///< towards zero
    kNearest,  ///< ties away from zero
  };
  /// Floats of 8 bits: what lies beyond the greatest number becomes that, else infinity or, where
  /// the type has none, NaN.
  bool saturate = true;
  Scale scale = Scale::kUp;
};

/// The elements [first, first + to.size()) as numbers: exactly where Number has them, floats
/// otherwise rounded to the nearest, integers cut to their low bits, and floats as integers as
/// float_to_integer says. As a bool: whether it is not 0.
template <class Number>
void read_elements(DType dtype, const std::byte* bytes, std::int64_t first, std::span<Number> to);
/// The same backwards: floats are rounded to the nearest, ties to even. Where elements are below a
/// byte, those beside the written ones stay as they are.
template <class Number>
void write_elements(DType dtype, std::span<const Number> from, std::byte* bytes, std::int64_t first,
                    Narrowing how = {});

/// One element.
template <class Number>
Number read_element(DType dtype, const std::byte* bytes, std::int64_t i) {
  Number number{};
  read_elements(dtype, bytes, i, std::span<Number>(&number, 1));
  return number;
}
template <class Number>
void write_element(DType dtype, Number number, std::byte* bytes, std::int64_t i,
                   Narrowing how = {}) {
  write_elements(dtype, std::span<const Number>(&number, 1), bytes, i, how);
}

float to_float(Float16 element);
float to_float(BFloat16 element);
/// Rounded to the nearest, ties to even; beyond the greatest number infinity.
Float16 to_float16(float number);
BFloat16 to_bfloat16(float number);

}  // namespace parallax
