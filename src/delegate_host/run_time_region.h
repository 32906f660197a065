// A region with sizes that become known only during a run: compiled before the run, bound during
// it. The most recently used bindings are kept, and so are refusals. Internal to delegate_host/.
//
// Thread-safe. Threads that bind the same region to new sizes are serialized.
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

/// Holds at most kKept bindings and kRefused refused combinations of sizes. Lists are searched
/// linearly; both are short.
class RunTimeRegion {
 public:
  static constexpr std::size_t kKept = 4, kRefused = 16;  ///< limits of the two lists

  /// REQUIRES: `entry` is compiled. `values`: the region in the graph of `compiled`.
  RunTimeRegion(RegionStore::Entry entry, std::shared_ptr<const CRegion> values,
                std::shared_ptr<const Compiled> compiled, DelegateUse use);

  /// Returns the binding to `sizes`, made now unless it is kept. Refused sizes are not retried,
  /// except after a pause if memory was short in bind or in a run. The first failure of a kind is
  /// written to `log`, which may be null. Calls the delegate. Errors: those of bind_within(); the
  /// recorded reason if the sizes, or the region, were refused before.
  Result<std::shared_ptr<BoundRegion>> bind(const std::vector<ValueDims>& sizes, const Logger* log);
  /// Returns the compiled region; never null.
  const std::shared_ptr<CompiledRegion>& compiled() const { return entry_.compiled; }
  /// Releases the kept bindings; those in use end with their runs. Returns false if there were
  /// none.
  bool drop_bindings();

 private:
  /// A binding to one combination of sizes.
  struct Kept {
    std::vector<ValueDims> sizes;
    std::shared_ptr<BoundRegion> bound;
  };
  /// A combination of sizes that the delegate refused.
  struct RefusedSizes {
    std::vector<ValueDims> sizes;
    Refusal kind = Refusal::kSizes;
    Error why;              ///< returned to runs with these sizes
    RetryPause pause = {};  ///< for kMoment only
  };
  /// Binds the region to `sizes` by the delegate.
  Result<std::shared_ptr<BoundRegion>> make(const std::vector<ValueDims>& sizes);
  /// Returns the known binding, or the known refusal; nullopt: the sizes are new or may be retried.
  std::optional<Result<std::shared_ptr<BoundRegion>>> find(const std::vector<ValueDims>& sizes);
  /// Stores a binding as the most recent one. Returns the evicted one, to be destroyed without
  /// locks.
  std::vector<Kept> keep(Kept one);
  /// Binds unless another thread has done so meanwhile. If the budget is exceeded, drops kept
  /// bindings and retries.
  Result<std::shared_ptr<BoundRegion>> find_or_make(const std::vector<ValueDims>& sizes);
  /// Returns why the CPU runs the region with these sizes, and counts this run in their pause. A
  /// binding that ran out of memory in a run goes to `gone`.
  std::optional<Error> known_refusal(const std::vector<ValueDims>& sizes, std::vector<Kept>& gone)
      PX_REQUIRES(mutex_);
  /// Records a refusal as the most recent one, and starts a pause for kMoment.
  void remember(const std::vector<ValueDims>& sizes, Refusal kind, const Error& why)
      PX_REQUIRES(mutex_);

  const RegionStore::Entry entry_;
  const std::shared_ptr<const CRegion> values_;
  const std::shared_ptr<const Compiled> compiled_;
  const DelegateUse use_;
  Mutex binding_ PX_ACQUIRED_BEFORE(mutex_){LockOrder::kBindingRegion};  ///< a turn: one thread
                                                                         ///< binds, others wait for
                                                                         ///< it
  Mutex mutex_{LockOrder::kBoundRegions};
  // Most recently used first.
  std::vector<Kept> kept_ PX_GUARDED_BY(mutex_);
  std::vector<RefusedSizes> refused_ PX_GUARDED_BY(mutex_);
};

/// Binds as BoundRegion::make() does, and checks that the inputs and outputs of one run fit the
/// device's limit. Errors: also kBudgetExceeded.
Result<std::shared_ptr<BoundRegion>> bind_within(const DelegateUse& use, RegionStore::Entry entry,
                                                 const std::shared_ptr<const CRegion>& values,
                                                 const Compiled& compiled,
                                                 std::span<const ValueDims> told);

/// Returns whether all sizes of the region are known before a run.
bool is_planned_region(const Compiled& compiled, RegionId region);

}  // namespace parallax
