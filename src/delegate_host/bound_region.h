// A region for the sizes of one binding, and one run of it. Internal to delegate_host/.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "delegate_host/device_values.h"
#include "delegate_host/region_store.h"
#include "delegate_host/region_times.h"
#include "run/device.h"

namespace parallax {

class BoundRegion {
 public:
  /// `told`: as CSizes::make(). Errors: of the delegate; as that; kBudgetExceeded of `ledger`,
  /// which may be null.
  static Result<std::shared_ptr<BoundRegion>> make(RegionStore::Entry entry,
                                                   std::shared_ptr<const CRegion> values,
                                                   const Compiled& compiled,
                                                   const std::shared_ptr<DeviceLedger>& ledger,
                                                   std::span<const ValueDims> told = {});
  ~BoundRegion();
  BoundRegion(const BoundRegion&) = delete;
  BoundRegion& operator=(const BoundRegion&) = delete;

  /// Why the CPU runs the region with these sizes: a run of them found no memory. nullopt: it does
  /// not.
  std::optional<Error> problem() const;
  void refuse(Error error);
  void forget();

  const OpenDelegate& delegate() const { return *region->delegate; }
  const std::shared_ptr<CompiledRegion> region;
  const std::shared_ptr<RegionState> state;
  const std::shared_ptr<const CRegion> values;  ///< in the graph of this binding
  void* handle = nullptr;
  std::shared_ptr<RegionTimes> times;  ///< gets what runs take; null: nobody asks. Set once

 private:
  BoundRegion(RegionStore::Entry entry, std::shared_ptr<const CRegion> values_in)
      : region(std::move(entry.compiled)),
        state(std::move(entry.state)),
        values(std::move(values_in)) {}

  DeviceCharge charge_;  // of what the binding holds
  std::atomic<bool> refused_{false};
  mutable Mutex mutex_;
  std::optional<Error> error_ PX_GUARDED_BY(mutex_);
};

/// One run of a region, and what it needs.
struct RegionStart {
  std::shared_ptr<const void> owner;         ///< lives until the run has ended
  std::shared_ptr<BoundRegion> region;       ///< null: it cannot be run
  std::shared_ptr<DeviceValues> run_values;  ///< null: the device works in the CPU's memory
  const IdVector<ValueId, ValueId>* roots;   ///< Compiled::root
  RegionRun run;
  Completion done;
};

/// A region's run while threads work at it: the last one to let go of this calls `done`, when what
/// the run needed has gone. A run of the plan that has ended in time is then held by no thread of
/// a delegate, whose bindings would still count in the budget of the next run.
class RegionStep {
 public:
  explicit RegionStep(RegionStart start) : start_(std::move(start)) {}
  ~RegionStep();
  RegionStep(const RegionStep&) = delete;
  RegionStep& operator=(const RegionStep&) = delete;

  const RegionStart& start() const { return *start_; }
  // One of these, once: what `done` is to be told. Without them it goes without a call.
  void end(Status status) { status_ = std::move(status); }
  void lose(Error error) {
    lost_ = true;
    end(tl::unexpected(std::move(error)));
  }

 private:
  std::optional<RegionStart> start_;
  std::optional<Status> status_;
  bool lost_ = false;
};

/// Begins the run and returns; `done` is called once.
void run_region(RegionStart start);
/// The region's run is over: lets go of its values and ends `step`. After a failure the CPU runs
/// the region: it gets what only the device has before, and where that is lost, the run is.
void end_region(const std::shared_ptr<RegionStep>& step, Status status) noexcept;

}  // namespace parallax
