// Memory accounting of sessions that share a budget: the memory of their runs and the plans that
// they keep. Thread-safe.
//
// Order of locks: the account's mutex comes before those of plan caches. Plans and pools are
// destroyed after it was released, because destroying them may call delegates and the user's
// allocator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "delegate_host/device_pool.h"
#include "parallax/runtime.h"
#include "planning/plan_cache.h"
#include "run/run_memory.h"
#include "session/runs_in_progress.h"

namespace parallax {

/// The bytes that the sessions of one budget hold together. Thread-safe.
class MemoryAccount {
 public:
  RunMemory memory;     ///< blocks of runs, and bytes that devices and States hold
  RunsInProgress runs;  ///< runs of all these sessions

  /// Counts `plans`, which must outlive its entry, until it is removed. Session::Impl calls it when
  /// it is constructed.
  void add(PlanCache& plans);
  /// Stops counting `plans`, and frees the blocks that no run uses. ~Session::Impl() calls it
  /// before anything else. Blocks of other sessions are freed, too, if they are idle.
  void remove(PlanCache& plans);
  /// Makes trim() and free_idle_pieces() include a device's own memory, as long as `pool` lives.
  /// Holds only a weak reference.
  void add(const std::shared_ptr<DevicePool>& pool);
  /// Frees everything that no run uses: blocks, pieces of devices, plans other than the latest of
  /// each session. Then returns free pages of the heap to the system. Runs in progress are not
  /// disturbed, and keep their blocks. Throws std::bad_alloc if there is no memory for the lists;
  /// public callers ignore that. Calls delegates and the user's allocator, without locks.
  void trim();

  /// Evicts plans other than the latest of each session until a run of `needed` bytes fits `limit`
  /// next to the plans and the runs in progress. Returns the bytes of the evictable plans that are
  /// left; 0 without a limit. Bytes are those of PlanCache::spare_bytes(). Sessions are asked in
  /// the order in which they were added. Does not wait and does not reserve: RunMemory::acquire()
  /// does. The caller subtracts the result from the limit of its run.
  std::int64_t make_room(std::int64_t needed, std::optional<std::int64_t> limit);
  /// Frees pieces of devices that no run uses. Returns whether any of them counted in the budget.
  /// Asks the pools only if RunMemory::fix() has reserved bytes.
  bool free_idle_pieces();
  /// Frees idle pieces or, if that frees nothing, evicts the least recently used plan of a session
  /// with delegates, whose regions hold memory. False: only the latest plan of each session is
  /// left. Callers repeat it until their request fits or the answer is false.
  bool forget_oldest_regions();
  /// Frees idle pieces and evicts all plans of sessions with delegates. Runs in progress keep
  /// theirs until they end. Includes the latest plan of each session: their next runs plan again.
  void forget_regions();
  /// Bytes of all plans other than the latest of each session: those that may be evicted. These
  /// bytes count in a budget although runs do not hold them.
  std::int64_t spare_plan_bytes() const;

 private:
  /// As spare_plan_bytes().
  std::int64_t spare_locked() const PX_REQUIRES(mutex_);
  /// Returns the pools that still live.
  std::vector<std::shared_ptr<DevicePool>> pools_locked() const PX_REQUIRES(mutex_);

  mutable Mutex mutex_{LockOrder::kAccount};
  std::vector<PlanCache*> caches_ PX_GUARDED_BY(mutex_);  // latest session last
  std::vector<std::weak_ptr<DevicePool>> pools_ PX_GUARDED_BY(mutex_);
};

/// Returns the account of a session with this budget: `common`, its runtime's, unless that is null;
/// else, under kAuto, the account that all such sessions of the process share; else a new one.
/// Under kAuto the free memory of the machine is the limit, so separate accounts would promise the
/// same bytes twice. The shared account lives as long as a session uses it. Thread-safe.
std::shared_ptr<MemoryAccount> account_for(const MemoryBudget& budget,
                                           const std::shared_ptr<MemoryAccount>& common);

}  // namespace parallax
