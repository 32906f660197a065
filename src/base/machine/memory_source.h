// Decides where a runtime's large memory comes from: system pages, which large_pages.h allocates,
// or the user's allocator. Large memory: blocks of runs, tensors whose sizes become known during a
// run, and packed weights; all follow the same policy.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/machine/large_pages.h"
#include "parallax/runtime.h"

namespace parallax {

/// The source of a runtime's large memory: the system, with a page policy, or the user's allocator.
/// One for each runtime; whatever is allocated through it may outlive it, since the pointers keep
/// the allocator alive.
class MemorySource {
 public:
  /// Uses the system's memory if `allocator` is null. The user's allocator must be thread-safe.
  explicit MemorySource(PagePolicy policy = {}, std::shared_ptr<Allocator> allocator = nullptr)
      : policy_(policy), allocator_(std::move(allocator)) {}

  /// Whether to request large pages from the system, and whether to touch pages before they are
  /// needed. Both are false for the user's allocator, which decides itself.
  bool large() const { return policy_.large && allocator_ == nullptr; }
  bool prefault() const { return policy_.prefault && allocator_ == nullptr; }
  /// Returns whether memory comes from the user's allocator.
  bool is_users() const { return allocator_ != nullptr; }
  /// Requests small pages for `bytes`, unless the memory is the user's. A request that the system
  /// refuses is ignored. Content is kept.
  void want_small(std::span<std::byte> bytes) const {
    if (!is_users() && !bytes.empty()) parallax::want_small(bytes);
  }
  /// Returns the record of whether large pages have come quickly so far, which first_touch() keeps.
  LargePageWatch& watch() { return watch_; }

  /// Allocates bytes of unspecified content as Allocator::allocate() does; the last copy of the
  /// pointer releases them. Returns null if the allocator does; throws std::bad_alloc if the
  /// pointer's own data finds no memory. REQUIRES: is_users(); here and when the last copy is
  /// destroyed, the calling thread holds no lock other than turns (base/lock_order.h). `alignment`
  /// is a power of two. An exception of the allocator passes through.
  std::shared_ptr<std::byte> allocate(std::int64_t bytes, std::int64_t alignment);

 private:
  const PagePolicy policy_;                     ///< for memory of the system
  const std::shared_ptr<Allocator> allocator_;  ///< null: memory comes from the system
  LargePageWatch watch_;
};

}  // namespace parallax
