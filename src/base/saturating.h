// Sums and products of non-negative numbers: the largest number instead of an overflow.
// Thread-safety: pure functions.
//
// For estimates and quotas, where "too much" is all that a sum beyond 63 bits needs to say. Sizes
// that memory is allocated by are computed with base/checked.h instead.
#pragma once

#include <cstdint>
#include <limits>

#include "base/checked.h"

namespace parallax {

// Return a + b and a * b, or the largest 64-bit number if that is exceeded. REQUIRES: neither is
// negative.
inline std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  return checked_add(a, b).value_or(std::numeric_limits<std::int64_t>::max());
}
inline std::int64_t saturating_mul(std::int64_t a, std::int64_t b) {
  return checked_mul(a, b).value_or(std::numeric_limits<std::int64_t>::max());
}

}  // namespace parallax
