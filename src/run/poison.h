// Bytes that are noticed if they are read before they are written or after they are freed. Tests
// use them to catch lifetimes that are too short. Pure functions of the bytes; the caller ensures
// that no other thread accesses them.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace parallax {

/// The byte of poisoned memory: as f32 a large negative number, as an integer an index far out of
/// range.
inline constexpr int kPoison = 0xCD;

/// Overwrites all bytes. An empty span may be null.
inline void poison(std::span<std::byte> bytes) {
  if (!bytes.empty()) std::memset(bytes.data(), kPoison, bytes.size());
}

}  // namespace parallax
