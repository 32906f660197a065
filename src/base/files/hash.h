// XXH3, which is not a cryptographic hash. The values are the same on all machines. Call the
// functions from any thread.
//
// For keys of caches and identities of files that this program wrote. An attacker can make two
// inputs of one hash: do not use it where that matters.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace parallax {

/// A hash of 128 bits. Compares by `low`, then `high`.
struct Hash128 {
  std::uint64_t low = 0, high = 0;  ///< halves of the hash
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

/// Return the XXH3 hash of `bytes`, with seed 0: two different functions, neither is a part of the
/// other. As fast as one core reads memory, about 10 GB/s.
Hash128 hash128(std::span<const std::byte> bytes);
std::uint64_t hash64(std::span<const std::byte> bytes);
/// Returns hash128() of a mapped file, and drops its pages from memory after hashing them; later
/// reads load them from the file again. REQUIRES: `mapped` is a whole read-only mapping of a file.
/// Throws std::bad_alloc if there is no memory for the state of the hash. Reads 8 MiB at a time, so
/// that a file larger than the memory can be hashed. Other threads may read the mapping meanwhile.
Hash128 hash_mapped(std::span<const std::byte> mapped);

}  // namespace parallax
