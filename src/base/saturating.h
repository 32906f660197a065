// Sums and products that give the largest number instead of an overflow. Thread-safety: pure
// functions.
//
// For estimates, quotas and indices that are limited later, where "too much" is all that a number
// beyond 63 bits needs to say. Never the size of an allocation, unless base/checked.h multiplies it
// by 2 or more: that gives nullopt for the largest number.
#pragma once

#include <cstdint>
#include <limits>

#include "base/checked.h"

namespace parallax {

/// Return a + b and a * b, or the largest 64-bit number if the result does not fit. REQUIRES: the
/// result is not below the lowest number; it never is if neither is negative.
inline std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  return checked_add(a, b).value_or(std::numeric_limits<std::int64_t>::max());
}
inline std::int64_t saturating_mul(std::int64_t a, std::int64_t b) {
  return checked_mul(a, b).value_or(std::numeric_limits<std::int64_t>::max());
}

}  // namespace parallax
