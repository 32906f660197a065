// Philox-4x32-10, a counter-based random number generator: the n-th number is a function of n, so
// tiles draw theirs independently and in any order (Salmon et al., Parallel random numbers: as easy
// as 1, 2, 3; 2011). Not for cryptography. Pure.
#pragma once

#include <array>
#include <cstdint>

namespace parallax {

/// Returns 128 random bits for counter `place` and key `seed`, as four words. The upper 64 bits of
/// the counter are 0. Constants below are the paper's multipliers and Weyl increments.
/// RandomUniform and the like pass the index of the element and the node's seed, and use the first
/// two words. The words are the same on every machine and in every run.
constexpr std::array<std::uint32_t, 4> philox(std::uint64_t place, std::uint64_t seed) {
  std::array<std::uint32_t, 4> x = {static_cast<std::uint32_t>(place),
                                    static_cast<std::uint32_t>(place >> 32), 0, 0};
  // The key changes by the golden ratio and sqrt(3) - 1, in 32 bits, after each round.
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  // Ten rounds: the paper's default.
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * x[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ key0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ key1, static_cast<std::uint32_t>(a)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return x;
}

}  // namespace parallax
