#include "session/memory_account.h"

#include <algorithm>

#include "base/caught.h"
#include "base/heap.h"

namespace parallax {

void MemoryAccount::add(PlanCache& plans) {
  const MutexLock lock(mutex_);
  caches_.push_back(&plans);
}

void MemoryAccount::remove(PlanCache& plans) {
  {
    const MutexLock lock(mutex_);
    std::erase(caches_, &plans);
  }
  memory.trim();
}

void MemoryAccount::add(const std::shared_ptr<DevicePool>& pool) {
  const MutexLock lock(mutex_);
  std::erase_if(pools_, [](const auto& other) { return other.expired(); });
  pools_.push_back(pool);
}

std::vector<std::shared_ptr<DevicePool>> MemoryAccount::pools_locked() const {
  std::vector<std::shared_ptr<DevicePool>> pools;
  pools.reserve(pools_.size());
  for (const auto& pool : pools_)
    if (auto held = pool.lock()) pools.push_back(std::move(held));
  return pools;
}

void MemoryAccount::trim() {
  {
    PlanCache::Forgotten plans;  // destroyed without the mutex, as `pools`
    std::vector<std::shared_ptr<DevicePool>> pools;
    {
      const MutexLock lock(mutex_);
      for (PlanCache* const cache : caches_) cache->keep_within(0, plans);
      pools = pools_locked();
    }
    for (const auto& pool : pools) pool->trim();
    memory.trim();
  }
  free_heap_pages();
}

std::int64_t MemoryAccount::spare_locked() const {
  std::int64_t bytes = 0;
  for (const PlanCache* plans : caches_) bytes += plans->spare_bytes();
  return bytes;
}

std::int64_t MemoryAccount::spare_plan_bytes() const {
  const MutexLock lock(mutex_);
  return spare_locked();
}

std::int64_t MemoryAccount::make_room(std::int64_t needed, std::optional<std::int64_t> limit) {
  if (!limit) return 0;
  const std::int64_t room =
      std::max<std::int64_t>(0, *limit - std::min(*limit, needed) - memory.busy_bytes());
  PlanCache::Forgotten forgotten;  // destroyed without the mutex
  const MutexLock lock(mutex_);
  for (PlanCache* plans : caches_) {
    const std::int64_t above = spare_locked() - room;
    if (above <= 0) break;
    plans->keep_within(std::max<std::int64_t>(0, plans->spare_bytes() - above), forgotten);
  }
  return spare_locked();
}

bool MemoryAccount::free_idle_pieces() {
  const std::int64_t before = memory.fixed_bytes();
  std::vector<std::shared_ptr<DevicePool>> pools;
  {
    const MutexLock lock(mutex_);
    if (before > 0) pools = pools_locked();
  }
  for (const auto& pool : pools) pool->trim();
  return memory.fixed_bytes() < before;
}

bool MemoryAccount::forget_oldest_regions() {
  if (free_idle_pieces()) return true;
  PlanCache::Forgotten forgotten;  // destroyed without the mutex
  const MutexLock lock(mutex_);
  return std::ranges::any_of(caches_, [&](PlanCache* plans) {
    return plans->has_delegates() && plans->forget_oldest(forgotten);
  });
}

void MemoryAccount::forget_regions() {
  (void)free_idle_pieces();
  PlanCache::Forgotten forgotten;  // as above
  const MutexLock lock(mutex_);
  for (PlanCache* plans : caches_)
    if (plans->has_delegates()) plans->forget_all(forgotten);
}

Result<std::shared_ptr<MemoryAccount>> make_memory_account() {
  try {
    return std::make_shared<MemoryAccount>();
  } catch (...) {
    return tl::unexpected(caught(Stage::kSession));
  }
}

std::shared_ptr<MemoryAccount> account_for(const MemoryBudget& budget,
                                           const std::shared_ptr<MemoryAccount>& common) {
  if (common != nullptr) return common;
  if (budget.kind != MemoryBudget::Kind::kAuto) return std::make_shared<MemoryAccount>();
  static Mutex mutex;
  static std::weak_ptr<MemoryAccount> shared PX_GUARDED_BY(mutex);
  const MutexLock lock(mutex);
  std::shared_ptr<MemoryAccount> account = shared.lock();
  if (account == nullptr) shared = account = std::make_shared<MemoryAccount>();
  return account;
}

}  // namespace parallax
