#include "kernels/packed_weights.h"

#include <algorithm>
#include <cstdlib>

#include "base/checked.h"
#include "base/status.h"

namespace parallax {
namespace {

Error out_of_memory(std::int64_t bytes) {
  return {Stage::kCompile,
          ErrorCode::kOutOfMemory,
          {},
          "cannot allocate " + std::to_string(bytes) + " bytes for packed weights"};
}

}  // namespace

void AlignedBytes::Free::operator()(std::byte* p) const { std::free(p); }

Result<AlignedBytes> AlignedBytes::allocate(std::int64_t bytes) {
  const auto rounded = checked_align(std::max<std::int64_t>(bytes, 1), kAlignment);
  if (bytes < 0 || !rounded) return tl::unexpected(out_of_memory(bytes));
  void* memory = std::aligned_alloc(kAlignment, static_cast<std::size_t>(*rounded));
  if (memory == nullptr) return tl::unexpected(out_of_memory(bytes));
  AlignedBytes result;
  result.memory_.reset(static_cast<std::byte*>(memory));
  result.size_ = bytes;
  return result;
}

Result<std::shared_ptr<const AlignedBytes>> PackedWeights::get(
    const std::byte* source, const std::string& layout, std::int64_t bytes,
    const std::function<void(std::byte*)>& fill) {
  // The lock is held while packing: two threads that want the same block must not make it twice.
  const std::lock_guard lock(mutex_);
  const auto key = std::make_pair(source, layout);
  if (const auto found = blocks_.find(key); found != blocks_.end()) return found->second;
  PX_ASSIGN(AlignedBytes block, AlignedBytes::allocate(bytes));
  fill(block.data());
  auto shared = std::make_shared<const AlignedBytes>(std::move(block));
  blocks_.emplace(key, shared);
  return shared;
}

std::int64_t PackedWeights::total_bytes() const {
  const std::lock_guard lock(mutex_);
  std::int64_t total = 0;
  for (const auto& [key, block] : blocks_) total += block->size();
  return total;
}

}  // namespace parallax
