// Numbers of one C++ type as another, defined for all of them. Pure functions.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

namespace parallax {

/// A float as an integer: towards zero, held within the type's range, NaN as 0.
template <class To, class From>
To saturate(From x) {
  using Limits = std::numeric_limits<To>;
  // A NaN that ends as an index must be found out: the least i32 or i64 lies outside every tensor.
  if (std::isnan(x)) return Limits::digits >= 31 ? Limits::min() : To{0};
  // 2^(bits) is a float, the largest To may not be.
  if (x >= std::ldexp(From{1}, Limits::digits)) return Limits::max();
  if (x <= static_cast<From>(Limits::min())) return Limits::min();
  return static_cast<To>(x);
}

/// Integers wrap, floats saturate as integers, bool is "not zero".
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
