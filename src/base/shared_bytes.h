// Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace parallax {

/// Read-only memory and what keeps it alive.
struct SharedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

}  // namespace parallax
