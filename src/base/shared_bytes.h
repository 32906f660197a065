// Bytes with shared ownership. Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace parallax {

/// Read-only memory and the object that keeps it alive.
struct SharedBytes {
  std::span<const std::byte> bytes;   ///< valid while `owner` or a copy of it exists
  std::shared_ptr<const void> owner;  ///< may be null for memory that outlives all users
};

}  // namespace parallax
