// Arithmetic on sizes that come from a file: the result is nullopt instead of an overflow.
// Thread-safety: pure functions.
//
// Used for dims, offsets and counts of models before memory is allocated or a range of a file is
// read. A caller reports nullopt as an error of its own; for mere estimates base/saturating.h is
// simpler.
#pragma once

#include <cstdint>
#include <optional>

namespace parallax {

/// Return a + b, a - b and a * b; nullopt if the result does not fit 64 bits.
inline std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}
inline std::optional<std::int64_t> checked_sub(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_sub_overflow(a, b, &r)) return std::nullopt;
  return r;
}
inline std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}
/// Returns `bytes` rounded up to a multiple of `alignment`, a power of two; nullopt on overflow.
/// REQUIRES: bytes >= 0. The result is at least `bytes`; 0 stays 0.
inline std::optional<std::int64_t> checked_align(std::int64_t bytes, std::int64_t alignment) {
  auto r = checked_add(bytes, alignment - 1);
  if (r) *r &= ~(alignment - 1);
  return r;
}

/// The alignment in bytes of every offset and size in an arena: one cache line, and the widest
/// vector of any target.
inline constexpr std::int64_t kAlignment = 64;

}  // namespace parallax
