// Runs the regions of one binding on open delegates, each its own: what run/device.h wants, over
// the table of delegate.h. Regions are compiled and bound by prepare(), on the caller's thread; a
// run only begins them.
//
// Where the device has memory of its own, a region's run is a chain: what is not there of its
// inputs is copied there, it runs, what others read of its outputs is copied back. Each link begins
// where the one before was answered, on the thread that answers. No thread waits for a device.
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

/// What a session has of one delegate.
struct DelegateUse {
  std::shared_ptr<const OpenDelegate> opened;
  std::shared_ptr<RegionStore> store = std::make_shared<RegionStore>();
  std::shared_ptr<DeviceLedger> ledger = nullptr;  ///< null: nothing is counted
  std::shared_ptr<DeviceLedger> host = nullptr;    ///< as DevicePool's
  std::shared_ptr<DevicePool> pool = nullptr;      ///< null: each binding has its own
};

/// What the planner knows of the regions of a plan.
struct PlannedRegions {
  /// Of each region of the model: the names there of its nodes.
  IdVector<RegionId, std::vector<std::string>> nodes;
  std::uint64_t version = 0;  ///< of the refusals that the plan was made by
};

class DelegateDevice final : public Device, public std::enable_shared_from_this<DelegateDevice> {
 public:
  /// For `compiled` and its bodies. `delegates`: by Delegation::delegate. `times`: gets what runs
  /// of each region of the model take; none or null: nobody asks. `split`: what is known of the
  /// times of whole runs, where the model is split. `planned`: null: take_refused() returns
  /// nothing.
  DelegateDevice(std::vector<DelegateUse> delegates, std::shared_ptr<const Compiled> compiled,
                 IdVector<RegionId, std::shared_ptr<RegionTimes>> times = {}, TimedSplit split = {},
                 std::shared_ptr<const PlannedRegions> planned = nullptr);
  ~DelegateDevice() override;

  /// Compiles and binds what was not, which may take long: refusals are noted in the store, and the
  /// first of each kind is told to `log`. Does nothing the second time, until a store forgets them.
  /// Errors: kLimitExceeded, kCancelled if `deadline` comes before all regions are prepared; the
  /// one that the delegate prepares then is waited for. The next call goes on.
  Status prepare(const Logger& log, const Deadline& deadline = {});

  /// Regions, bodies' included, that the CPU runs now: a plan without them is faster. Each plan has
  /// one answer, further calls return nothing.
  std::vector<RefusedRegion> take_refused();
  /// As the constructor got it.
  const PlannedRegions* planned() const { return planned_.get(); }

  const IdVector<RegionId, std::shared_ptr<RegionTimes>>& times() const { return times_; }
  const TimedSplit& split() const { return split_; }
  /// Counts a run; true where it is time to compare times() with what was predicted: soon at first,
  /// then ever more rarely.
  bool count_run() noexcept;

  std::optional<Error> problem(RegionId region) const override;
  bool is_used() const override;
  std::string_view name_of(RegionId region) const override;
  Device* in_body(NodeId node, std::size_t body) override;
  bool is_news(RegionId region, const Error& error) noexcept override;
  void late(RegionId region, const Error& error) noexcept override;
  std::shared_ptr<DeviceRun> begin_run(const IdVector<RegionId, bool>& on_cpu) override;
  RegionId wants_copy(const DeviceRun& run, ValueId value) override;
  void start_copy(DeviceRun& run, const RegionTensor& value, const Completion& done) override;
  void start(RegionRun run, Completion done) override;
  Result<std::shared_ptr<void>> bind(RegionId region, const std::vector<ValueDims>& sizes,
                                     const Logger* log) override;
  bool drop_bindings() override;

 private:
  const DelegateUse& use_of(RegionId region) const {
    return delegates_[compiled_->context->delegation.delegate_of(region)];
  }
  /// A region as the last prepare() left it.
  struct Prepared {
    std::shared_ptr<RegionState> state;  ///< null: it was not prepared
    std::shared_ptr<BoundRegion> bound;
    bool at_run_time = false;
    std::optional<Error> unbound;  ///< why, for these sizes
  };
  Prepared prepared(RegionId region) const;
  struct Refused {
    Refusal kind;
    Error why;
  };
  std::optional<Refused> refusal_of(RegionId region) const;
  void add_refused(std::vector<RefusedRegion>& list) const;
  std::string name_in_model(RegionId region) const;
  int generation() const;
  Status prepare_all(const Logger& log, const Deadline& deadline);
  void prepare_region(RegionId region, const Logger& log);
  void add_compiled(std::vector<CompiledRegions>& by_delegate) const;
  Result<std::shared_ptr<BoundRegion>> bind(RegionId region, std::shared_ptr<RegionState>& state);
  RegionStore::Entry compile(RegionId region,
                             const Result<std::shared_ptr<const CRegion>>& values) const;
  std::shared_ptr<RunTimeRegion> run_time_region(RegionId region) const;

  std::vector<DelegateUse> delegates_;  // as made
  const std::shared_ptr<const Compiled> compiled_;
  const IdVector<RegionId, std::shared_ptr<RegionTimes>> times_;
  const TimedSplit split_;
  const std::shared_ptr<const PlannedRegions> planned_;
  const ValueReaders readers_;
  /// By node: of each body; null: it has no regions inside.
  std::map<NodeId, std::vector<std::shared_ptr<DelegateDevice>>> bodies_;
  std::atomic<std::uint64_t> runs_{0};
  std::atomic<int> prepared_{-1};   // the generation of the stores
  std::atomic<bool> taken_{false};  // take_refused() has answered
  mutable Mutex mutex_;
  IdVector<RegionId, std::shared_ptr<RegionState>> states_ PX_GUARDED_BY(mutex_);
  IdVector<RegionId, std::shared_ptr<BoundRegion>> bound_ PX_GUARDED_BY(mutex_);
  // Compiled, and bound while a run goes on; null: bound before.
  IdVector<RegionId, std::shared_ptr<RunTimeRegion>> run_time_ PX_GUARDED_BY(mutex_);
  IdVector<RegionId, std::optional<Error>> unbound_ PX_GUARDED_BY(mutex_);  // why, for these sizes
  TimedMutex preparing_ PX_ACQUIRED_BEFORE(mutex_){LockOrder::kPreparing};  // with those of bodies
};

}  // namespace parallax
