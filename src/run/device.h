// The interface between a run and a device that runs regions of its program asynchronously. A step
// of a plan is a branch that the pool runs or a region that a device runs; the thread that
// completes it, a worker or one of the device's, releases the steps that wait for it. Internal to
// run/.
//
// Thread-safety: a Completion may be called by any thread; a Device and its memory are called by
// all threads of a pool.
//
// DelegateDevice (delegate_host/) implements Device; tests have others. The run waits for no device
// that it has abandoned, so everything that a Completion or a RegionRun holds must be able to
// outlive the run.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "bind/program.h"
#include "parallax/result.h"
#include "parallax/tensor.h"

namespace parallax {

class AbandonHook;
class AsyncSteps;

/// The state of one run in a device, such as values that its regions leave for later ones. The run
/// and each RegionRun share it; it is destroyed with the last of them, on any thread.
class DeviceRun {
 public:
  virtual ~DeviceRun() = default;
};

/// A tensor that a region reads or writes: dense, row-major.
struct RegionTensor {
  ValueId value;
  DType dtype = DType::kF32;
  Dims dims;
  std::byte* bytes = nullptr;  ///< the first element; never written if the region reads it
  /// kDevice: `bytes` belong to the device, as do all tensors of the region. Else kShared.
  MemorySpace space = MemorySpace::kShared;
};

/// The dims of a value whose size only a run determines. All dimensions are positive in arguments
/// of Device::bind().
struct ValueDims {
  ValueId value;
  Dims dims;
  bool operator==(const ValueDims&) const = default;
};

/// One run of a region.
struct RegionRun {
  RegionId region;
  std::shared_ptr<DeviceRun> of = nullptr;  ///< the result of begin_run()
  /// Values that the region reads, each once. Constants that are known when the plan is made are
  /// not among them.
  std::vector<RegionTensor> inputs;
  /// Values that other steps read, kShared or kDevice. The device must write each completely before
  /// it reports success.
  std::vector<RegionTensor> outputs;
  /// The result of bind(); null: sizes were known before the run. The run also holds it until it
  /// ends, so that a device which releases it before it calls the Completion is never the last
  /// owner.
  std::shared_ptr<void> bound = nullptr;
};

/// Reports the end of a region: success or an error. Copies report the same end; the first call
/// counts, and any thread may make it. If the last copy is destroyed without a call, the region has
/// failed (kInternal). Thread-safe; may outlive the run. May be called inside Device::start(). The
/// thread that calls it may begin the next region and then calls Device::start(). This may happen
/// while an outer start() still runs on the thread, but only one level deep. Hold no lock that
/// start() takes when you call the Completion.
class Completion {
 public:
  /// Made by AsyncSteps only. `branch`: the number of the step.
  Completion(std::shared_ptr<AsyncSteps> steps, BranchId branch);
  /// With an error, the CPU runs the region if the plan has it as a fallback; else the run fails.
  /// After the run has stopped waiting, the call only frees memory.
  void operator()(Status status) const;
  /// Reports instead that data is lost which only the device had, so that no CPU can run the
  /// region. The run ends with `error` as if the device were late: Device::late() is called. Counts
  /// as the call that reports the end. REQUIRES: the Completion is that of a region, not of a copy.
  void lost(Error error) const noexcept;
  /// Records for the trace that `bytes` of `value` were copied to the device or back, since
  /// `begin`. Recorded only if the run is traced and still waits for the step.
  void copied(ValueId value, bool to_device, std::int64_t bytes,
              std::chrono::steady_clock::time_point begin) const noexcept;
  /// Sets a function that is called, at most once and without locks, if the run stops waiting
  /// before the region is done; immediately if it has stopped already. `cancel` may call the
  /// Completion, and must not throw.
  void on_abandon(std::function<void()> cancel) const;
  /// Whether the run still waits for the region. False soon after the run has ended. A device may
  /// skip work that has not begun if it is false; it must still call the Completion.
  bool is_wanted() const;
  /// The hook that on_abandon() sets; never null.
  const std::shared_ptr<AbandonHook>& hook() const;

 private:
  struct Step;
  std::shared_ptr<Step> step_;
};

/// A device, or several, that run the regions of one plan. Its functions are called by all threads
/// of a pool, concurrently. A run holds no mutex while it calls them. The plan owns it
/// (Bound::device), so it outlives the runs of the plan.
class Device {
 public:
  virtual ~Device() = default;
  /// Returns the device for the regions of a body of `node`, and of bodies inside it; null: it runs
  /// none of them. The result lives as long as this.
  virtual Device* in_body(NodeId /*node*/, std::size_t /*body*/) { return nullptr; }
  /// Begins a run of the plan, or a trip of the body. `on_cpu`: regions that the CPU runs from the
  /// start; others may follow when they fail. Null: the device keeps no state of the run. Called
  /// once for each run or trip, before any region of it.
  virtual std::shared_ptr<DeviceRun> begin_run(const IdVector<RegionId, bool>& /*on_cpu*/) {
    return nullptr;
  }
  /// Returns the first region that needs a copy of a value as soon as the CPU has made it;
  /// start_copy() follows. Invalid: no region needs it. Called by the thread that made the value,
  /// after its branch.
  virtual RegionId wants_copy(const DeviceRun&, ValueId) { return {}; }
  /// Begins to copy `value`, a root that regions read, and returns; calls `done` when the bytes are
  /// no longer read. If a copy fails, the region copies again. May throw. `done` counts as a
  /// pending step: the run does not end before it, unless it abandons the step.
  virtual void start_copy(DeviceRun&, const RegionTensor& /*value*/, const Completion& done) {
    done({});
  }
  /// Returns why the CPU runs a region from the start, if the plan has the CPU as a fallback: the
  /// region failed before. nullopt: the device runs it. Called once per run.
  virtual std::optional<Error> problem(RegionId) const { return std::nullopt; }
  /// Prepares a region for sizes that the run has just determined; start() may follow. May be slow.
  /// `sizes`: those of its values that the plan does not know, in ascending order; all have
  /// elements. `log`, which may be null, receives each failure once. On an error the CPU runs the
  /// region this time. Called before start(), on the thread that begins the region; regions of
  /// bodies are never bound during a run. Errors do not fail the run if the CPU is a fallback.
  virtual Result<std::shared_ptr<void>> bind(RegionId, const std::vector<ValueDims>& /*sizes*/,
                                             const Logger* /*log*/) {
    return tl::unexpected(Error{Stage::kRun,
                                ErrorCode::kUnsupported,
                                {},
                                "the device takes no sizes that only running tells"});
  }
  /// Releases the bindings in the CPU's memory that bind() made and no run uses. Returns whether
  /// there were any. A session with a memory budget calls it after each run; other runs may be in
  /// progress.
  virtual bool drop_bindings() { return false; }
  /// Whether there is a region that it may run.
  virtual bool is_used() const { return true; }
  /// Returns the name of the region's delegate, for reports. Valid while the device lives.
  virtual std::string_view name_of(RegionId) const { return {}; }
  /// Whether the failure of a region with `error` deserves a warning: false if one like it was
  /// logged before.
  virtual bool is_news(RegionId, const Error& /*error*/) noexcept { return true; }
  /// Records that a region exceeded ExecuteOptions::region_time: its run ends with `error` once
  /// this returns. Called without locks.
  virtual void late(RegionId, const Error& /*error*/) noexcept {}
  /// Begins to run a region and returns; calls `done` before or after that. After calling `done` it
  /// must not access the tensors. The run may end earlier; the memory of the tensors is kept until
  /// `done` nevertheless. An exception fails the region. Bytes of inputs must only be read. All
  /// memory in `run` stays valid until `done` was called or its last copy is gone.
  virtual void start(RegionRun run, Completion done) = 0;
};

}  // namespace parallax
