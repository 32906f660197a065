// A region bound to the sizes of one binding, and one run of it. Internal to delegate_host/.
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

/// A region that a delegate has bound to concrete sizes. The destructor unbinds it, on another
/// thread if necessary (destroy_outside_answers()).
class BoundRegion {
 public:
  /// Binds `entry`, which must be compiled. Calls the delegate, which may be slow. `told`: as for
  /// CSizes::make(). `ledger` may be null. Errors: those of CSizes::make() and of the delegate's
  /// bind; kInternal if it binds to null; kBudgetExceeded from `ledger`.
  static Result<std::shared_ptr<BoundRegion>> make(RegionStore::Entry entry,
                                                   std::shared_ptr<const CRegion> values,
                                                   const Compiled& compiled,
                                                   const std::shared_ptr<DeviceLedger>& ledger,
                                                   std::span<const ValueDims> told = {});
  /// Unbinds the region, unless this is a child of fork(), which must not call the delegate.
  ~BoundRegion();
  BoundRegion(const BoundRegion&) = delete;
  BoundRegion& operator=(const BoundRegion&) = delete;

  /// Returns the reason why the CPU runs the region with these sizes: a run of them ran out of
  /// memory. nullopt: the delegate runs it.
  std::optional<Error> problem() const;
  /// Records that a run ran out of memory. The first error is kept.
  void refuse(Error error);
  /// Clears the record, so that the delegate is tried again.
  void forget();

  /// Returns the delegate that compiled the region.
  const OpenDelegate& delegate() const { return *region->delegate; }
  const std::shared_ptr<CompiledRegion> region;  ///< keeps the compiled region alive
  const std::shared_ptr<RegionState> state;      ///< records refusals of the region
  const std::shared_ptr<const CRegion> values;   ///< values of the region in the graph of this
                                                 ///< binding
  void* handle = nullptr;              ///< px_binding::binding; set once, not null afterwards
  std::shared_ptr<RegionTimes> times;  ///< receives the times of runs; null: times are not
                                       ///< recorded. Set once

 private:
  BoundRegion(RegionStore::Entry entry, std::shared_ptr<const CRegion> values_in)
      : region(std::move(entry.compiled)),
        state(std::move(entry.state)),
        values(std::move(values_in)) {}

  DeviceCharge charge_;               // bytes of the binding
  std::atomic<bool> refused_{false};  ///< fast path of problem(): whether error_ is set
  mutable Mutex mutex_;
  std::optional<Error> error_ PX_GUARDED_BY(mutex_);
};

/// One run of a region, and the objects that it needs. Destroyed when the run has ended.
struct RegionStart {
  std::shared_ptr<const void> owner;         ///< kept alive until the run has ended
  std::shared_ptr<BoundRegion> region;       ///< null: the region cannot be run
  std::shared_ptr<DeviceValues> run_values;  ///< null: the device works in the CPU's memory
  const IdVector<ValueId, ValueId>* roots;   ///< Compiled::root
  RegionRun run;                             ///< tensors of the run, by root
  Completion done;                           ///< called exactly once
};

/// Shared by the threads that work on a region's run: the destructor of the last copy calls `done`,
/// after everything that the run needed is released. So when a run of the plan has ended in time,
/// no thread of a delegate still holds its bindings, which would count in the budget of the next
/// run.
class RegionStep {
 public:
  /// Takes ownership of everything that the run needs.
  explicit RegionStep(RegionStart start) : start_(std::move(start)) {}
  /// Releases the run's objects first, then calls `done` with the result.
  ~RegionStep();
  RegionStep(const RegionStep&) = delete;
  RegionStep& operator=(const RegionStep&) = delete;

  /// Returns the run, while this object lives.
  const RegionStart& start() const { return *start_; }
  // Set the result that `done` receives: an outcome, or the loss of values that only the device
  // has. Call one of them, once. If neither is called, `done` is destroyed without a call, which
  // counts as a failure.
  void end(Status status) { status_ = std::move(status); }
  void fail(Error error) {
    lost_ = true;
    end(tl::unexpected(std::move(error)));
  }

 private:
  std::optional<RegionStart> start_;
  std::optional<Status> status_;
  bool lost_ = false;
};

/// Starts the run and returns; `done` is called once, on this thread or another one. Copies inputs
/// to the device and outputs back if the device has memory of its own. The thread holds no locks
/// but turns. REQUIRES: the region is bound to the sizes of the run.
void run_region(RegionStart start);
/// Ends the run: releases its values and sets the result of `step`. After a failure the CPU runs
/// the region: values that only the device has are copied back before; if that fails, the run is
/// lost.
void end_region(const std::shared_ptr<RegionStep>& step, Status status) noexcept;

}  // namespace parallax
