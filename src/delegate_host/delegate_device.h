// Implements run/device.h for the regions of one binding, on open delegates, by the functions of
// delegate.h. Each region belongs to one delegate. prepare() compiles and binds regions on the
// caller's thread; a run only starts them.
//
// If the device has memory of its own, a region's run is a chain: missing inputs are copied to the
// device, the region runs, outputs that others read are copied back. Each link starts when the
// previous one is answered, on the thread that answers. No thread blocks on a device.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/mutex.h"
#include "delegate_host/device_values.h"
#include "delegate_host/refusal.h"
#include "delegate_host/region_store.h"
#include "delegate_host/region_times.h"
#include "run/device.h"

namespace parallax {

class BoundRegion;
class RunTimeRegion;

/// The objects through which a session uses one delegate.
struct DelegateUse {
  std::shared_ptr<const OpenDelegate> opened;                            ///< never null
  std::shared_ptr<RegionStore> store = std::make_shared<RegionStore>();  ///< compiled regions and
                                                                         ///< refusals, shared by
                                                                         ///< the bindings
  std::shared_ptr<DeviceLedger> ledger = nullptr;  ///< null: bytes are not counted
  std::shared_ptr<DeviceLedger> host = nullptr;    ///< as for DevicePool
  std::shared_ptr<DevicePool> pool = nullptr;      ///< null: each binding has its own pool
};

/// Information of the planner about the regions of a plan.
struct PlannedRegions {
  /// Names in the model of each region's nodes, by region of the model.
  IdVector<RegionId, std::vector<std::string>> nodes;
  std::uint64_t version = 0;  ///< version of the refusals that the plan is based on
};

/// The Device of one compiled graph, which owns those of its bodies. Create it with
/// std::make_shared. The destructor requires that the thread holds no locks but turns.
class DelegateDevice final : public Device, public std::enable_shared_from_this<DelegateDevice> {
 public:
  /// Creates the device for `compiled` and its bodies. `delegates`: indexed by
  /// Delegation::delegate. `times`: receives the times of each region of the model; missing or
  /// null: not recorded. `split`: times of whole runs, if the model is split. `planned`: null:
  /// take_refused() returns an empty list.
  DelegateDevice(std::vector<DelegateUse> delegates, std::shared_ptr<const Compiled> compiled,
                 IdVector<RegionId, std::shared_ptr<RegionTimes>> times = {}, TimedSplit split = {},
                 std::shared_ptr<const PlannedRegions> planned = nullptr);
  /// REQUIRES: the thread holds no locks but turns, because regions are unbound.
  ~DelegateDevice() override;

  /// Compiles and binds all regions that are not ready, which may be slow. Refusals are recorded
  /// in the store; the first of each kind is written to `log`. Further calls do nothing until the
  /// failures of a store are cleared. Concurrent calls wait for each other. Errors: kLimitExceeded
  /// or kCancelled if `deadline` ends before all regions are prepared; a region that the delegate
  /// is preparing then is waited for. The next call continues.
  Status prepare(const Logger& log, const Deadline& deadline = {});

  /// Returns the regions, including those of bodies, that the CPU runs now: a plan without them is
  /// faster. Returns a non-empty list once per plan; later calls return an empty one.
  std::vector<RefusedRegion> take_refused();
  /// Returns the constructor's argument; may be null.
  const PlannedRegions* planned() const { return planned_.get(); }

  /// Return the records of times that the constructor received.
  const IdVector<RegionId, std::shared_ptr<RegionTimes>>& times() const { return times_; }
  const TimedSplit& split() const { return split_; }
  /// Counts a run. Returns true after 5, 10, 20, 40, ... runs: it is time to compare times() with
  /// the prediction.
  bool count_run() noexcept;

  /// Device (run/device.h), on any thread. problem() also returns an error after a fork, because a
  /// child has no threads of the delegate, and for regions that were not prepared.
  std::optional<Error> problem(RegionId region) const override;
  bool is_used() const override;
  /// Returns the spec of the region's delegate, such as "opencl:mobile".
  std::string_view name_of(RegionId region) const override;
  Device* in_body(NodeId node, std::size_t body) override;
  bool is_news(RegionId region, const Error& error) noexcept override;
  /// Marks the region's device as lost: none of its regions is tried again until the failures are
  /// cleared.
  void late(RegionId region, const Error& error) noexcept override;
  std::shared_ptr<DeviceRun> begin_run(const IdVector<RegionId, bool>& on_cpu) override;
  RegionId wants_copy(const DeviceRun& run, ValueId value) override;
  void start_copy(DeviceRun& run, const RegionTensor& value, const Completion& done) override;
  void start(RegionRun run, Completion done) override;
  Result<std::shared_ptr<void>> bind(RegionId region, const std::vector<ValueDims>& sizes,
                                     const Logger* log) override;
  /// Releases bindings that were made during runs, for delegates in host memory only.
  bool drop_bindings() override;

 private:
  /// Returns the delegate that the region belongs to.
  const DelegateUse& use_of(RegionId region) const {
    return delegates_[compiled_->context->delegation.delegate_of(region)];
  }
  /// The state of a region after the last prepare().
  struct Prepared {
    std::shared_ptr<RegionState> state;  ///< null: it was not prepared
    std::shared_ptr<BoundRegion> bound;  ///< null: not bound before runs
    bool at_run_time = false;            ///< bound during each run instead
    std::optional<Error> unbound;        ///< reason why it is not bound, for these sizes
  };
  /// Returns a copy of the state of a region; all fields are empty before prepare().
  Prepared prepared(RegionId region) const;
  /// A refusal that keeps a region on the CPU.
  struct Refused {
    Refusal kind;
    Error why;
  };
  /// Returns the reason why the CPU runs the region now; nullopt: the delegate does.
  std::optional<Refused> refusal_of(RegionId region) const;
  /// Appends the refused regions of this graph and its bodies, for take_refused().
  void add_refused(std::vector<RefusedRegion>& list) const;
  /// Returns the name in the model of the region's first node; empty if it has no node.
  std::string name_in_model(RegionId region) const;
  /// Returns the sum of the stores' generations; it only grows.
  int generation() const;
  /// Prepares the regions of this graph, then those of bodies. REQUIRES: the caller holds
  /// preparing_.
  Status prepare_all(const Logger& log, const Deadline& deadline);
  /// Compiles and binds one region, or clears the failure of a bound one. Warns in `log`.
  void prepare_region(RegionId region, const Logger& log);
  /// Appends the compiled regions of this graph and its bodies, by delegate.
  void add_compiled(std::vector<CompiledRegions>& by_delegate) const;
  /// Compiles and binds a region. Null if its sizes become known during a run. On failure `state`
  /// has the refusal.
  Result<std::shared_ptr<BoundRegion>> bind(RegionId region, std::shared_ptr<RegionState>& state);
  /// Compiles a region through the store of its delegate.
  RegionStore::Entry compile(RegionId region,
                             const Result<std::shared_ptr<const CRegion>>& values) const;
  /// Returns the region if it is bound during runs; otherwise null.
  std::shared_ptr<RunTimeRegion> run_time_region(RegionId region) const;

  std::vector<DelegateUse> delegates_;              // as constructed, with pools
  const std::shared_ptr<const Compiled> compiled_;  ///< shared with all plans of the binding
  const IdVector<RegionId, std::shared_ptr<RegionTimes>> times_;
  const TimedSplit split_;
  const std::shared_ptr<const PlannedRegions> planned_;
  const ValueReaders readers_;  ///< which side reads each value
  /// The device of each body, by the node that has it; null if the body has no regions inside.
  std::map<NodeId, std::vector<std::shared_ptr<DelegateDevice>>> bodies_;
  std::atomic<std::uint64_t> runs_{0};  ///< completed calls of count_run()
  std::atomic<int> prepared_{-1};       // the sum of the stores' generations at the last prepare()
  std::atomic<bool> taken_{false};      // take_refused() has answered
  mutable Mutex mutex_;
  IdVector<RegionId, std::shared_ptr<RegionState>> states_ PX_GUARDED_BY(mutex_);
  IdVector<RegionId, std::shared_ptr<BoundRegion>> bound_ PX_GUARDED_BY(mutex_);
  // Regions that are compiled and will be bound during a run; null: bound before.
  IdVector<RegionId, std::shared_ptr<RunTimeRegion>> run_time_ PX_GUARDED_BY(mutex_);
  IdVector<RegionId, std::optional<Error>> unbound_ PX_GUARDED_BY(mutex_);  // why, for these sizes
  TimedMutex preparing_ PX_ACQUIRED_BEFORE(mutex_){LockOrder::kPreparing};  // with those of bodies
};

}  // namespace parallax
