// Where a runtime takes the memory that it needs much of: blocks of runs, tensors whose sizes only
// running tells, packed weights. One object for all of it, as it is one policy. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/machine/large_pages.h"
#include "parallax/runtime.h"

namespace parallax {

class MemorySource {
 public:
  /// `allocator` null: of the system.
  explicit MemorySource(PagePolicy policy = {}, std::shared_ptr<Allocator> allocator = nullptr)
      : policy_(policy), allocator_(std::move(allocator)) {}

  /// Whether to ask the system for large pages, and to touch pages before they are needed. Memory
  /// of the user's is as the user wants it.
  bool large() const { return policy_.large && allocator_ == nullptr; }
  bool prefault() const { return policy_.prefault && allocator_ == nullptr; }
  bool is_users() const { return allocator_ != nullptr; }
  /// Has the system give small pages, unless the memory is the user's.
  void want_small(std::span<std::byte> bytes) const {
    if (!is_users() && !bytes.empty()) parallax::want_small(bytes);
  }
  /// How quickly large pages came so far.
  LargePageWatch& watch() { return watch_; }

  /// REQUIRES: is_users(). Null: there is none. Goes back when the last copy is gone. Throws
  /// std::bad_alloc.
  std::shared_ptr<std::byte> allocate(std::int64_t bytes, std::int64_t alignment);

 private:
  const PagePolicy policy_;
  const std::shared_ptr<Allocator> allocator_;
  LargePageWatch watch_;
};

}  // namespace parallax
