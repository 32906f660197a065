// What runs the regions of a program elsewhere. A step of a plan is a branch that the pool runs or
// a region that a device runs; the thread that completes it, a worker or one of the device's, lets
// go of the steps that wait for it. Internal to run/.
//
// Thread-safety: a Completion may be called by any thread; a Device and its memory are called by
// all threads of a pool.
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
class OutsideSteps;

/// What a device keeps of one run of a plan, such as values that its regions leave for later ones.
class DeviceRun {
 public:
  virtual ~DeviceRun() = default;
};

struct RegionTensor {
  ValueId value;
  DType dtype = DType::kF32;
  Dims dims;
  std::byte* bytes = nullptr;
  /// kDevice: `bytes` are the device's own, and all tensors of the region are there. Else kShared.
  MemorySpace space = MemorySpace::kShared;
};

/// Of a value whose size only running tells.
struct ValueDims {
  ValueId value;
  Dims dims;
  bool operator==(const ValueDims&) const = default;
};

/// One run of a region.
struct RegionRun {
  RegionId region;
  std::shared_ptr<DeviceRun> of = nullptr;  ///< as begin_run() gave it
  std::vector<RegionTensor> inputs;         ///< values that no step of this region makes, each once
  std::vector<RegionTensor> outputs;        ///< values that other steps read, kShared or kDevice
  /// As bind() gave it; null: sizes were known before. The run holds it until it ends: a device
  /// that lets go before it calls the Completion is never the last.
  std::shared_ptr<void> bound = nullptr;
};

/// Tells that a region is done, or why it is not. The first call counts, any thread may make it;
/// where the last copy goes without a call, the region has failed.
class Completion {
 public:
  Completion(std::shared_ptr<OutsideSteps> steps, BranchId branch);
  void operator()(Status status) const;
  /// In place of the call: what only the device has is lost, so that no CPU can run the region. The
  /// run ends with `error`, as where the device is late: Device::late() hears of it.
  void lost(Error error) const noexcept;
  /// For the trace: `bytes` of `value` were copied to the device or back, since `begin`.
  void copied(ValueId value, bool to_device, std::int64_t bytes,
              std::chrono::steady_clock::time_point begin) const noexcept;
  /// `cancel` is called, at most once and without locks, where the run stops waiting before the
  /// region is done; also when it has stopped by now. It may call the Completion. Must not throw.
  void on_abandon(std::function<void()> cancel) const;
  /// Whether the run still waits for it. False soon after the run has ended.
  bool is_wanted() const;
  const std::shared_ptr<AbandonHook>& hook() const;

 private:
  struct Step;
  std::shared_ptr<Step> step_;
};

class Device {
 public:
  virtual ~Device() = default;
  /// For the regions of a body of `node`, and of bodies inside; null: it runs none of them.
  virtual Device* in_body(NodeId /*node*/, std::size_t /*body*/) { return nullptr; }
  /// A run of the plan, or a trip of the body, begins. `on_cpu`: regions that the device does not
  /// run this time, but for those that fail. Null: there is nothing to keep.
  virtual std::shared_ptr<DeviceRun> begin_run(const IdVector<RegionId, bool>& /*on_cpu*/) {
    return nullptr;
  }
  /// The CPU has made a value that regions read: the first of them that wants a copy now, beside
  /// what runs. start_copy() follows. Invalid: none does.
  virtual RegionId wants_copy(const DeviceRun&, ValueId) { return {}; }
  /// Begins to copy `value`, the root of what regions read, and returns; `done` is called when the
  /// bytes are not read any more. A copy that fails is left to the region. May throw.
  virtual void start_copy(DeviceRun&, const RegionTensor& /*value*/, const Completion& done) {
    done({});
  }
  /// Why the CPU runs a region from the start, where the plan has a substitute: it has failed
  /// before. Nothing: the device runs it. A run asks once.
  virtual std::optional<Error> problem(RegionId) const { return std::nullopt; }
  /// Prepares a region for sizes that running has told now; start() follows, or does not. May take
  /// long. `sizes`: of its values that no plan knows, ascending; none has no elements. `log`, which
  /// may be null, hears of a failure once. Errors: why the CPU runs it this time.
  virtual Result<std::shared_ptr<void>> bind(RegionId, const std::vector<ValueDims>& /*sizes*/,
                                             const Logger* /*log*/) {
    return tl::unexpected(Error{Stage::kExecute,
                                ErrorCode::kUnsupported,
                                {},
                                "the device takes no sizes that only running tells"});
  }
  /// Hands back what bind() gave in the CPU's memory and no run uses; false where that was
  /// nothing.
  virtual bool drop_bindings() { return false; }
  /// Whether there is a region that it may run.
  virtual bool is_used() const { return true; }
  /// Whose it is, for reports.
  virtual std::string_view name_of(RegionId) const { return {}; }
  /// Whether the failure of a region, which is `error`, is worth a warning: false where one like it
  /// was told before.
  virtual bool is_news(RegionId, const Error& /*error*/) noexcept { return true; }
  /// A region has taken longer than ExecuteOptions::region_time: its run ends with `error` once
  /// this returns. Called without locks.
  virtual void late(RegionId, const Error& /*error*/) noexcept {}
  /// Begins to run a region and returns; calls `done` then or later. Of the tensors it may touch
  /// nothing after that call. The run may end before it: the memory of the tensors waits
  /// nevertheless. What it throws fails the region.
  virtual void start(RegionRun run, Completion done) = 0;
};

}  // namespace parallax
