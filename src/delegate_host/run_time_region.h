// A region whose sizes only running tells: compiled before the run, bound while it goes on. A few
// bindings are kept, those used last, and so are refusals. Internal to delegate_host/.
//
// Thread-safe. Threads that bind the same region to new sizes do so one after the other.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "delegate_host/bound_region.h"
#include "delegate_host/delegate_device.h"
#include "delegate_host/refusal.h"

namespace parallax {

class RunTimeRegion {
 public:
  static constexpr std::size_t kKept = 4, kRefused = 16;

  /// REQUIRES: `entry` is compiled.
  RunTimeRegion(RegionStore::Entry entry, std::shared_ptr<const CRegion> values,
                std::shared_ptr<const Compiled> compiled, DelegateUse use);

  /// Sizes that were refused are not tried again, or after a pause where memory was short in bind
  /// or in a run. Errors: as bind_within(); why the sizes, or the region, were refused before.
  Result<std::shared_ptr<BoundRegion>> bind(const std::vector<ValueDims>& sizes, const Logger* log);
  const std::shared_ptr<CompiledRegion>& compiled() const { return entry_.compiled; }
  /// Those that no run uses go back; false where there were none.
  bool drop_bindings();

 private:
  struct Kept {
    std::vector<ValueDims> sizes;
    std::shared_ptr<BoundRegion> bound;
  };
  struct RefusedSizes {
    std::vector<ValueDims> sizes;
    Refusal kind = Refusal::kSizes;
    Error why;
    RetryPause pause = {};
  };
  Result<std::shared_ptr<BoundRegion>> make(const std::vector<ValueDims>& sizes);
  std::optional<Result<std::shared_ptr<BoundRegion>>> find(const std::vector<ValueDims>& sizes);
  std::vector<Kept> keep(Kept one);
  Result<std::shared_ptr<BoundRegion>> find_or_make(const std::vector<ValueDims>& sizes);
  std::optional<Error> known_refusal(const std::vector<ValueDims>& sizes, std::vector<Kept>& gone)
      PX_REQUIRES(mutex_);
  void remember(const std::vector<ValueDims>& sizes, Refusal kind, const Error& why)
      PX_REQUIRES(mutex_);

  const RegionStore::Entry entry_;
  const std::shared_ptr<const CRegion> values_;
  const std::shared_ptr<const Compiled> compiled_;
  const DelegateUse use_;
  Mutex binding_ PX_ACQUIRED_BEFORE(mutex_){LockOrder::kBindingRegion};
  Mutex mutex_{LockOrder::kBoundRegions};
  // The last used first.
  std::vector<Kept> kept_ PX_GUARDED_BY(mutex_);
  std::vector<RefusedSizes> refused_ PX_GUARDED_BY(mutex_);
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
