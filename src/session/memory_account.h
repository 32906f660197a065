// What sessions that share a budget hold together: the memory of their runs and the plans that they
// keep. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "execute/run_memory.h"
#include "parallax/options.h"
#include "session/plan_cache.h"

namespace parallax {

class MemoryAccount {
 public:
  RunMemory memory;

  /// `plans` counts from now on until it is taken out; the bytes that no run uses go back then.
  void add(PlanCache& plans);
  void remove(PlanCache& plans);

  /// Forgets plans until those kept beside the latest of each session leave `limit` enough for a
  /// run of `needed` bytes beside the runs in progress. Gives the bytes that they take then.
  std::int64_t make_room(std::int64_t needed, std::optional<std::int64_t> limit);
  /// Bytes of plans kept beside the latest of each session.
  std::int64_t spare_plan_bytes() const;

 private:
  std::int64_t spare_locked() const PX_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::vector<PlanCache*> caches_ PX_GUARDED_BY(mutex_);  // latest session last
};

/// The account of a session with this budget: the one that it names, for kAuto the one that all
/// such sessions of the process share, otherwise one of its own.
std::shared_ptr<MemoryAccount> account_for(const MemoryBudget& budget);

}  // namespace parallax
