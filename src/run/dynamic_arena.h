// Memory for data-dependent tensors, whose sizes only a run determines. A run has one arena per
// branch. Its arenas allocate from one pool, a block for each tensor, counted against the budget of
// the run.
//
// A large block is reused if it fits well. If no idle block fits a tensor, all of them are returned
// to the system first. So a run holds at most 1.25 times the peak of the bytes of live tensors: a
// tensor that grows with each trip of a loop never fits its old block, and idle blocks would
// accumulate.
//
// Thread-safe: a tensor may be freed by its last reader in another branch.
//
// Sizes are bytes. Blocks are allocated and freed without the mutexes, because both may call the
// user's allocator.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>

#include "base/machine/aligned_bytes.h"
#include "base/mutex.h"
#include "run/run_memory.h"

namespace parallax {

/// The blocks of one run. Must outlive its arenas. Thread-safe. Blocks below 64 KiB are not kept:
/// the system's allocator is fast for them.
class BlockPool {
 public:
  /// Reserves the bytes of blocks from `lease`, which must outlive the pool. Bodies use the pool of
  /// the outermost run.
  explicit BlockPool(RunMemory::Lease& lease) : lease_(lease) {}
  /// Frees idle blocks, then releases all bytes that it still counts. REQUIRES: no other thread
  /// uses it.
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// Returns a block of at least `bytes`, aligned to kAlignment; no larger if `exactly` or under a
  /// limit. Errors: kBudgetExceeded, kOutOfMemory. Without either, blocks of 64 KiB or more get an
  /// eighth more, for tensors that grow, and idle blocks are reused that waste a quarter at most.
  /// Does not wait for other runs. Contents are unspecified. Stage kRun, without a node.
  Result<AlignedBytes> take(std::int64_t bytes, bool exactly);
  /// Returns a block to the pool, for reuse or to the system. The block must be one of take().
  void give_back(AlignedBytes block) noexcept;
  /// Stops counting blocks of so many bytes, which do not return to the pool: their owner releases
  /// these bytes of the lease. For memory that a late device keeps after the run.
  void give_up(std::int64_t bytes);

 private:
  using Idle = std::multimap<std::int64_t, AlignedBytes>;  // keys: sizes

  void release(AlignedBytes block);

  RunMemory::Lease& lease_;
  std::atomic<std::int64_t> reserved_{0};  // bytes of the lease, idle blocks included
  Mutex mutex_;
  Idle idle_ PX_GUARDED_BY(mutex_);
};

/// The data-dependent tensors of one branch. Thread-safe.
class DynamicArena {
 public:
  /// `poison`: overwrites freed bytes, so that tests detect reads of them.
  DynamicArena(BlockPool& pool, bool poison) : pool_(&pool), poison_(poison) {}
  /// Returns all blocks to the pool; frees them if it has left the pool.
  ~DynamicArena();
  DynamicArena(const DynamicArena&) = delete;
  DynamicArena& operator=(const DynamicArena&) = delete;

  /// Returns bytes aligned to kAlignment, never null. `exactly`: adds no room to grow, because the
  /// caller has done so. Errors: kBudgetExceeded, kOutOfMemory. 0 bytes get a block of kAlignment.
  /// Contents are unspecified.
  Result<std::byte*> allocate(std::int64_t bytes, bool exactly = false);
  /// Frees a result of allocate(); ignores null and memory from elsewhere. REQUIRES: no thread
  /// reads the bytes any more.
  void free(std::byte* bytes);
  /// Detaches the blocks that are not freed from the pool, which may then be destroyed before the
  /// arena, and returns their bytes. allocate() and free() must not be called after that. The
  /// blocks are freed with the arena.
  std::int64_t leave_pool();

 private:
  BlockPool* pool_;  // null after leave_pool()
  const bool poison_;
  Mutex mutex_;
  std::map<std::byte*, AlignedBytes> taken_ PX_GUARDED_BY(mutex_);  // keys: addresses
};

}  // namespace parallax
