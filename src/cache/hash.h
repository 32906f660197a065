// XXH3: not for secrets. Thread-safety: pure functions.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace parallax {

struct Hash128 {
  std::uint64_t low = 0, high = 0;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

/// About 10 GB/s, what one core reads from memory.
Hash128 hash128(std::span<const std::byte> bytes);
std::uint64_t hash64(std::span<const std::byte> bytes);
/// The same hash as of the whole file; the pages of `mapped` are given back on the way.
Hash128 hash_mapped(std::span<const std::byte> mapped);

}  // namespace parallax
