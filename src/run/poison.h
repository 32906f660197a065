// Bytes that are noticed if they are read before they are written or after they are freed. Tests
// use them to catch lifetimes that are too short.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace parallax {

/// As float a large negative number, as integer an index far out of range.
inline constexpr int kPoison = 0xCD;

inline void poison(std::span<std::byte> bytes) {
  if (!bytes.empty()) std::memset(bytes.data(), kPoison, bytes.size());
}

}  // namespace parallax
