// The bytes that sessions with one budget hold together: the memory of their runs and the plans
// that they keep. Thread-safe.
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

class MemoryAccount {
 public:
  RunMemory memory;
  RunsInProgress runs;

  /// Counts `plans` until it is removed. Removing also frees the bytes that no run uses.
  void add(PlanCache& plans);
  void remove(PlanCache& plans);
  /// Has trim() reach a device's own memory.
  void add(const std::shared_ptr<DevicePool>& pool);
  /// Frees what no run uses: blocks, devices' pieces, plans other than the latest of each session.
  void trim();

  /// Forgets plans other than the latest of each session until a run of `needed` bytes fits `limit`
  /// beside the plans and the runs in progress. Returns the bytes of these plans that are left.
  std::int64_t make_room(std::int64_t needed, std::optional<std::int64_t> limit);
  /// Frees pieces of devices that no run uses. False: none of them counted in the budget.
  bool free_idle_pieces();
  /// The same or, where that frees nothing, forgets the least recently used plan of a session with
  /// delegates, whose regions keep memory. False: only the latest of each session is left.
  bool forget_oldest_regions();
  /// Frees idle pieces and forgets all plans of sessions with delegates. Runs in progress keep
  /// theirs until they end.
  void forget_regions();
  /// Bytes of all plans other than the latest of each session.
  std::int64_t spare_plan_bytes() const;

 private:
  std::int64_t spare_locked() const PX_REQUIRES(mutex_);
  std::vector<std::shared_ptr<DevicePool>> pools_locked() const PX_REQUIRES(mutex_);

  mutable Mutex mutex_{LockOrder::kAccount};
  std::vector<PlanCache*> caches_ PX_GUARDED_BY(mutex_);  // latest session last
  std::vector<std::weak_ptr<DevicePool>> pools_ PX_GUARDED_BY(mutex_);
};

/// The account of a session with this budget: `common`, its runtime's; without one, under kAuto the
/// one that all such sessions of the process share, else a new one.
std::shared_ptr<MemoryAccount> account_for(const MemoryBudget& budget,
                                           const std::shared_ptr<MemoryAccount>& common);

}  // namespace parallax
