// Conversions between C++ number types without undefined behaviour, from any thread. A double that
// is too large for a float becomes infinity, as IEEE 754 says.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

namespace parallax {

/// Converts a float or double to an integer: truncates towards zero and clamps to the range of To.
/// NaN becomes 0, or for signed types of 32 and 64 bits their least value. The result does not
/// depend on the CPU, unlike that of a plain cast.
template <class To, class From>
To saturate(From x) {
  using Limits = std::numeric_limits<To>;
  // A NaN that is used as an index must be detected: the least i32 or i64 lies outside every
  // tensor.
  if (std::isnan(x)) return Limits::digits >= 31 ? Limits::min() : To{0};
  // 2^bits can be represented as a float; the largest To may not be.
  if (x >= std::ldexp(From{1}, Limits::digits)) return Limits::max();
  if (x <= static_cast<From>(Limits::min())) return Limits::min();
  return static_cast<To>(x);
}

/// Converts a number of C++'s own types: wraps integers, converts floats to integers as saturate()
/// does, and to bool as "not zero", which NaN is too. Wrapping is modulo 2^bits of To.
template <class To, class From>
To convert_number(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return saturate<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace parallax
