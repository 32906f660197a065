// Memory for tensors whose sizes only running can tell. A run has one arena per branch. Its arenas
// take blocks from one pool, a block for each tensor, counted against the budget of the run.
//
// A large block serves again where it fits well. If no idle block fits a tensor, they all go back
// to the system first. So a run holds at most 1.25 times the bytes of tensors alive at once: a
// tensor that grows with each trip of a loop never fits its old block, and idle blocks would add
// up.
//
// Thread-safety: thread-safe (a tensor may be freed by its last reader in another branch).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>

#include "base/machine/aligned_bytes.h"
#include "base/mutex.h"
#include "run/run_memory.h"

namespace parallax {

/// The blocks of one run. Outlives its arenas.
class BlockPool {
 public:
  explicit BlockPool(RunMemory::Lease& lease) : lease_(lease) {}
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// At least `bytes`, aligned to kAlignment; no more if `exactly` or under a limit.
  /// Errors: kBudgetExceeded, kOutOfMemory.
  Result<AlignedBytes> take(std::int64_t bytes, bool exactly);
  void give_back(AlignedBytes block) noexcept;
  /// Blocks of so many bytes do not come back: who has them releases what they take of the lease.
  void give_up(std::int64_t bytes);

 private:
  using Idle = std::multimap<std::int64_t, AlignedBytes>;  // by size

  void release(AlignedBytes block);

  RunMemory::Lease& lease_;
  std::atomic<std::int64_t> reserved_{0};
  Mutex mutex_;
  Idle idle_ PX_GUARDED_BY(mutex_);
};

class DynamicArena {
 public:
  /// `poison`: overwrites freed bytes, so that tests notice when they are read.
  DynamicArena(BlockPool& pool, bool poison) : pool_(&pool), poison_(poison) {}
  ~DynamicArena();
  DynamicArena(const DynamicArena&) = delete;
  DynamicArena& operator=(const DynamicArena&) = delete;

  /// Bytes aligned to kAlignment, never null. `exactly`: the caller has added room to grow.
  /// Errors: kBudgetExceeded, kOutOfMemory.
  Result<std::byte*> allocate(std::int64_t bytes, bool exactly = false);
  /// Frees what allocate() returned; ignores null and memory from elsewhere.
  void free(std::byte* bytes);
  /// Takes what is not freed out of the pool, which may then go before this. How many bytes that
  /// is; allocate() and free() must not be called any more.
  std::int64_t leave_pool();

 private:
  BlockPool* pool_;  // null: it has left
  const bool poison_;
  Mutex mutex_;
  std::map<std::byte*, AlignedBytes> taken_ PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
