#include "base/machine/memory_source.h"

#include "base/lock_order.h"

namespace parallax {

std::shared_ptr<std::byte> MemorySource::allocate(std::int64_t bytes, std::int64_t alignment) {
  expect_only_turns();
  const auto size = static_cast<std::size_t>(bytes), at = static_cast<std::size_t>(alignment);
  auto* const memory = static_cast<std::byte*>(allocator_->allocate(size, at));
  if (memory == nullptr) return nullptr;
  // If there is no memory for the control block, the deleter is called.
  return {memory, [allocator = allocator_, size, at](std::byte* bytes_of_user) {
            expect_only_turns();
            allocator->deallocate(bytes_of_user, size, at);
          }};
}

}  // namespace parallax
