// Bytes with shared ownership. Not synchronised: one thread writes an object, or many read it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace parallax {

/// Read-only memory and the object that keeps it alive. Copies share the owner. Used for weights in
/// mapped files, packed weights and memory of callers. The owner may be any object, such as a
/// mapped file; its last copy may be destroyed on any thread.
struct SharedBytes {
  /// Valid while `owner` or a copy of it exists; always, if it is null.
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  ///< null: the memory outlives all users
};

}  // namespace parallax
