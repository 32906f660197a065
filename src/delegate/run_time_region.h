// A region whose sizes only running tells: compiled before the run, bound while it goes on. A few
// bindings are kept, those used last. Internal to delegate/.
//
// Thread-safe. Threads that bind the same region do so one after the other.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "delegate/bound_region.h"
#include "delegate/delegate_device.h"

namespace parallax {

class RunTimeRegion {
 public:
  static constexpr std::size_t kKept = 4;

  /// REQUIRES: `entry` is compiled.
  RunTimeRegion(RegionStore::Entry entry, std::shared_ptr<const CRegion> values,
                std::shared_ptr<const Compiled> compiled, DelegateUse use);

  /// Errors: as bind_within(). One that is not kBudgetExceeded leaves the region to the CPU.
  Result<std::shared_ptr<BoundRegion>> bind(const std::vector<ValueDims>& sizes, const Logger* log);
  const std::shared_ptr<CompiledRegion>& compiled() const { return entry_.compiled; }
  /// Those that no run uses go back; false where there were none.
  bool drop_bindings();

 private:
  struct Kept {
    std::vector<ValueDims> sizes;
    std::shared_ptr<BoundRegion> bound;
  };
  Result<std::shared_ptr<BoundRegion>> make(const std::vector<ValueDims>& sizes);

  const RegionStore::Entry entry_;
  const std::shared_ptr<const CRegion> values_;
  const std::shared_ptr<const Compiled> compiled_;
  const DelegateUse use_;
  std::atomic<bool> told_{false};  // of memory that lacks
  Mutex mutex_;
  std::vector<Kept> kept_ PX_GUARDED_BY(mutex_);  // the last used first
};

/// As BoundRegion::make(), where what a run of the region needs at once fits beside what the device
/// keeps. Errors: kBudgetExceeded too.
Result<std::shared_ptr<BoundRegion>> bind_within(const DelegateUse& use, RegionStore::Entry entry,
                                                 const std::shared_ptr<const CRegion>& values,
                                                 const Compiled& compiled,
                                                 std::span<const ValueDims> told);

/// Whether its sizes are known before a run.
bool is_planned_region(const Compiled& compiled, RegionId region);

}  // namespace parallax
