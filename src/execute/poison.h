// Bytes that show when they are read before they were written, or after they were freed: tests run
// with them to catch lifetimes that are too short.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace parallax {

/// A large negative number as float, an index far out of range as integer.
inline constexpr int kPoison = 0xCD;

inline void poison(std::span<std::byte> bytes) {
  if (!bytes.empty()) std::memset(bytes.data(), kPoison, bytes.size());
}

}  // namespace parallax
