// Conversion of elements of any type to numbers and back: the one place that knows their bits. A
// Number is one of the native types (dtypes.def). Elements smaller than a byte are packed, the
// first in the low bits. Pure functions, thread-safe; memory needs no alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "parallax/dtype.h"

namespace parallax {

/// Rules for converting numbers to elements that cannot represent them.
struct Narrowing {
  /// Rounding to the scales of kF8E8M0, which are powers of two.
  enum class Scale : std::uint8_t {
    kUp,       ///< away from zero
    kDown,     ///< towards zero
    kNearest,  ///< ties away from zero
  };
  /// For floats of 8 bits: a number beyond the greatest finite one becomes that one. False: it
  /// becomes infinity, or NaN if the type has no infinity.
  bool saturate = true;
  Scale scale = Scale::kUp;
};

/// Reads the elements [first, first + to.size()) as numbers: exactly if Number can represent them;
/// otherwise floats are rounded to the nearest, integers cut to their low bits, and floats
/// converted to integers as float_to_integer says. A bool is true for what is not 0. `dtype` must
/// have a fixed size, and `bytes` must hold these elements; neither is checked.
template <class Number>
void read_elements(DType dtype, const std::byte* bytes, std::int64_t first, std::span<Number> to);
/// Writes numbers as the elements [first, first + from.size()); floats are rounded to the nearest,
/// ties to even. Elements smaller than a byte that share a byte with the written ones keep their
/// values. Conditions as read_elements().
template <class Number>
void write_elements(DType dtype, std::span<const Number> from, std::byte* bytes, std::int64_t first,
                    Narrowing how = {});

/// Reads one element, the one at index `i`, under the conditions of read_elements(). To read many,
/// one call of read_elements() is faster.
template <class Number>
Number read_element(DType dtype, const std::byte* bytes, std::int64_t i) {
  Number number{};
  read_elements(dtype, bytes, i, std::span<Number>(&number, 1));
  return number;
}
/// Writes one element, the one at index `i`.
template <class Number>
void write_element(DType dtype, Number number, std::byte* bytes, std::int64_t i,
                   Narrowing how = {}) {
  write_elements(dtype, std::span<const Number>(&number, 1), bytes, i, how);
}

/// Returns the number exactly: f32 represents every f16 and bf16. A NaN stays one.
float to_float(Float16 element);
float to_float(BFloat16 element);
/// Returns the nearest element, ties to even; infinity beyond the greatest finite number.
Float16 to_float16(float number);
BFloat16 to_bfloat16(float number);

}  // namespace parallax
