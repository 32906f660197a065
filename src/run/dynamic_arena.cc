#include "run/dynamic_arena.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "run/poison.h"

namespace parallax {
namespace {

/// Smaller blocks are not pooled: the system's allocator is fast for them.
constexpr std::int64_t kPooled = std::int64_t{64} << 10;
/// The shares of a block's size, as divisors: kRoom is added for a tensor that is larger the next
/// time; kWaste may stay unused if a block is reused.
constexpr std::int64_t kRoom = 8, kWaste = 4;

}  // namespace

BlockPool::~BlockPool() {
  idle_.clear();  // no other thread uses the pool any more
  if (reserved_ > 0) lease_.release(reserved_);
}

Result<AlignedBytes> BlockPool::take(std::int64_t bytes, bool exactly) {
  const auto size = checked_align(std::max<std::int64_t>(bytes, 1), kAlignment);
  const bool roomy = size && *size >= kPooled && !exactly && !lease_.limited();
  const auto wanted =
      roomy ? checked_align(checked_add(*size, *size / kRoom).value_or(*size), kAlignment) : size;
  if (!wanted) {
    return tl::unexpected(
        Error{Stage::kRun, ErrorCode::kOutOfMemory, {}, "a tensor's size does not fit 63 bits"});
  }
  if (*size >= kPooled) {
    Idle unfit;  // freed without the mutex
    {
      const MutexLock lock(mutex_);
      const auto best = idle_.lower_bound(*size);
      if (best != idle_.end() && best->first - *size <= (roomy ? *size / kWaste : 0))
        return std::move(idle_.extract(best).mapped());
      unfit.swap(idle_);
    }
    for (auto& [bytes_of_it, block] : unfit) release(std::move(block));
  }
  PX_RETURN_IF_ERROR(lease_.reserve(*wanted));
  reserved_ += *wanted;  // before anything throws
  Result<AlignedBytes> block = AlignedBytes::allocate(*wanted, &lease_.source());
  if (!block) {
    reserved_ -= *wanted;
    lease_.release(*wanted);
    block.error().stage = Stage::kRun;
  }
  return block;
}

void BlockPool::give_back(AlignedBytes block) noexcept {
  const std::int64_t size = block.size();
  if (size < kPooled) return release(std::move(block));
  try {
    const MutexLock lock(mutex_);
    idle_.emplace(size, AlignedBytes{})->second = std::move(block);
  } catch (const std::bad_alloc&) {
    release(std::move(block));
  }
}

void BlockPool::give_up(std::int64_t bytes) { reserved_ -= bytes; }

void BlockPool::release(AlignedBytes block) {
  const std::int64_t size = block.size();
  block = {};
  reserved_ -= size;
  lease_.release(size);
}

DynamicArena::~DynamicArena() {
  for (auto& [bytes, block] : taken_)
    if (pool_ != nullptr) pool_->give_back(std::move(block));
}

std::int64_t DynamicArena::leave_pool() {
  const MutexLock lock(mutex_);
  std::int64_t sum = 0;
  for (const auto& [bytes, block] : taken_) sum += block.size();
  std::exchange(pool_, nullptr)->give_up(sum);
  return sum;
}

Result<std::byte*> DynamicArena::allocate(std::int64_t bytes, bool exactly) {
  PX_ASSIGN(AlignedBytes block, pool_->take(bytes, exactly));
  std::byte* const result = block.data();
  const MutexLock lock(mutex_);
  taken_.emplace(result, std::move(block));
  return result;
}

void DynamicArena::free(std::byte* bytes) {
  AlignedBytes block;
  {
    const MutexLock lock(mutex_);
    const auto taken = taken_.find(bytes);
    if (taken == taken_.end()) return;
    block = std::move(taken->second);
    taken_.erase(taken);
  }
  if (poison_) poison({bytes, static_cast<std::size_t>(block.size())});
  pool_->give_back(std::move(block));
}

}  // namespace parallax
