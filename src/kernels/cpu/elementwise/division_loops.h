// Division of 64-bit integers by one positive number, for the instruction set of this machine:
// chains that compute with positions in images spend most of their time on it. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

enum class DivisionFunction : std::uint8_t {
  kQuotient,  ///< rounded towards zero
  kModulo,    ///< x less the divisor times the quotient rounded down: 0 or more
};

/// Writes f(x[i], divisor) to y[i] for i < n. y may be x, otherwise it must not overlap x.
/// REQUIRES: divisor > 0.
void divide_by(DivisionFunction f, std::int64_t divisor, const std::int64_t* x, std::int64_t* y,
               std::size_t n);

}  // namespace parallax
