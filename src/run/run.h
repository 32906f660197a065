// The state of one run, shared by the threads that take part in it. Internal to run/.
//
// The node that makes a value writes its pointer and dims before any reader starts: a reader runs
// on the same thread, or its branch waits for the node's. The first error is written under a mutex.
//
// Lifetime: on the stack of execute(), or of BodyRunner::run_body() for a body. It may be destroyed
// once no asynchronous step is pending; tensors that a late device may still access are then handed
// to AsyncSteps.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "run/arena_checker.h"
#include "run/async_steps.h"
#include "run/control_flow/control_flow.h"
#include "run/dynamic_arena.h"
#include "run/execute.h"
#include "run/object_account.h"
#include "run/run_buffers.h"

namespace parallax {

class BodyRunner;

/// One run. Its functions are called in the order of their declaration, by the thread that called
/// execute(), except for run_branch() and fail(), which any participant calls, cancel(), and those
/// that AsyncSteps calls.
class Run {
 public:
  /// The outermost run. `participants`: a number above the index of every thread that takes part.
  /// References must outlive the run. `around`: null, except for the base of a body's run. Resets
  /// the buffers. May throw std::bad_alloc.
  Run(const Program& program, RunMemory::Lease& lease, const ExecuteOptions& options,
      std::shared_ptr<RunBuffers> buffers, std::size_t participants, Run* around = nullptr);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  /// The run of a body, by `host`, inside a node of `around`, with its arena at `block`. `device`:
  /// runs its regions; may be null. `buffers`: those of the trip before, or new. Shares the limits,
  /// lease, pool of blocks, scratch and steps of `around`.
  Run(const Program& program, Run& around, std::byte* block, BodyRunner& host, Device* device,
      std::shared_ptr<RunBuffers> buffers);

  /// Sets the memory of inputs and outputs; `place` must live, and is called, until the run ends.
  /// Errors: those of `place`; kBudgetExceeded. `inputs`: as for execute(). Known outputs are
  /// requested here, in their order; the others when their dims are known. Also kOutOfMemory, for
  /// an output that needs a copy.
  Status start(std::span<const std::byte* const> inputs, const PlaceOutput& place);
  /// Runs all branches with the scheduler of the options; blocks until they are done or the run has
  /// failed. Errors: those of nodes and regions; kLimitExceeded, kCancelled. REQUIRES: start() has
  /// succeeded. Afterwards no step and no copy is pending.
  Status run_branches(Participant& self);
  /// Copies the outputs that no kernel wrote in place. Errors: those of `place`. REQUIRES:
  /// run_branches() has succeeded. Requests outputs whose dims were not known before.
  Status finish();
  /// Converts the recorded events, after the run, to the public trace.
  void write_trace(RunTrace& trace) const;

  using Buffers = RunBuffers::OfThread;
  /// The buffers of the thread `self`.
  Buffers& buffers_of(const Participant& self) {
    return buffers_.threads[static_cast<std::size_t>(self.index())];
  }
  /// Whether a device runs `branch`. False also for regions of a body whose sizes only the run
  /// determines: the CPU runs these.
  bool on_device(BranchId branch) const;
  /// Runs a branch. False: a device has begun it, and StepListener receives its end. Failures of
  /// nodes stop the run and are not thrown. If the run has failed, its remaining nodes are skipped,
  /// and the branch counts as run.
  bool run_branch(BranchId branch, Participant& self);
  /// Whether any thread may begin this region, also one that has ended another and must not wait.
  bool begins_anywhere(BranchId branch) const;
  /// Begins a region on its device. False: the CPU must run it, or the run has failed. Called
  /// without locks; calls the device. A region whose sizes only the run determines is bound here
  /// first, which may be slow. Exceptions fail the run.
  bool begin_region(BranchId branch);
  /// Handles the end of a region on its device. True: it has failed, and run_branch() must run it
  /// on the CPU as a fallback. Called by the thread that ends the step; abandoned steps do not call
  /// it. With a fallback the failure is logged, unless one like it was before; otherwise the error
  /// fails the run.
  bool end_region(BranchId branch, Status status) noexcept;
  /// Stops the run with an error of `node`; the first one is kept. This run, the run around it and
  /// all bodies stop at the next node or tile. The stage becomes kRun; an error without a node gets
  /// the name of `node`, if it is valid and memory for the name exists.
  void fail(NodeId node, Error error) noexcept;
  /// Whether the run, the run around it or a body has failed.
  bool failed() const { return limits_->stopped(); }
  /// Stops the run because its caller cancelled it, without waiting for a device. Any thread may
  /// call it during run_branches(): the stop callback of the caller's token does.
  void cancel() noexcept;
  const Deadline& deadline() const { return limits_->deadline; }
  /// The asynchronous steps; null if no device takes part. The same object for a run and its
  /// bodies.
  const std::shared_ptr<AsyncSteps>& async_steps() const { return async_steps_; }
  /// Stops the run with an error of the first node of a region.
  void fail_branch(BranchId branch, Error error) noexcept;
  /// Records a copy to or from a device.
  void trace_copy(RegionId region, const CopyOfValue& copy) noexcept;
  /// Whether memory currently allows branches to run concurrently.
  bool allows_parallel() const {
    return options_.watch == nullptr || options_.watch->allows_parallel();
  }

 private:
  friend class BranchOutputs;
  friend class NodeTiles;
  friend class BodyRunner;

  /// Kernel scratch: each participant has `stride` bytes at `base` + index * stride. Sizes are in
  /// bytes. A body uses the scratch of the run around it.
  struct Scratch {
    std::byte* base = nullptr;
    std::int64_t stride = 0;
  };

  const Graph& graph() const { return compiled_.graph(); }
  /// The bytes of a value; null if it has none yet, or no longer.
  std::byte* bytes_of(ValueId id) const { return bytes_[compiled_.root[id]]; }
  /// The dims of a value, which must be known by now.
  const Dims& dims_of(ValueId id) const {
    const auto& known = compiled_.dims[id];
    return known ? *known : run_time_dims_[id];
  }
  /// Nanoseconds since the start of the run.
  std::int64_t now() const;
  Status place_value(ValueId id, std::span<const std::byte* const> inputs);
  Status place_output(std::size_t i, const Dims& dims);

  // run_branches.cc: the executors. Each returns when all branches have run or the run has failed.
  // run_faster() times the two orders of a program and keeps the faster; with a device it uses
  // dataflow.
  void run_faster(Participant& self);
  void run_in_order(Participant& self);
  void run_layers(Participant& self);
  void run_dataflow(Participant& self);

  // run_regions.cc
  void use_device(std::shared_ptr<AsyncSteps> steps);
  void leave_to_cpu();
  void run_and_wait(BranchId branch, Participant& self);
  bool is_planned(BranchId branch) const;
  /// The state of the CPU's fallback for a region: not needed, or to be run, or running.
  enum class Substitute : std::uint8_t { kNotNeeded, kWanted, kBegun };
  bool is_for_cpu(BranchId branch) const;
  void bind_region(BranchId branch) noexcept;
  NodeId first_node(BranchId branch) const;

  // run_time_regions.cc: regions whose sizes only a run determines.
  Result<std::shared_ptr<void>> ready_region(BranchId branch) noexcept;
  Status size_region(BranchId branch);
  Result<std::vector<ValueDims>> region_sizes(BranchId branch) const;
  Status place_results(BranchId branch);
  void release_results(BranchId branch) noexcept;
  void decline(BranchId branch, Error error) noexcept;
  void offer_copies(BranchId branch);
  RegionRun region_run(BranchId branch);
  RegionTensor region_tensor(ValueId id);
  Status check_region() const;
  std::int64_t bytes_of(const RegionTensor& tensor) const;
  void log_failure(BranchId branch, const Error& error) const noexcept;
  void trace_region(BranchId branch, std::int64_t begin, std::string problem);
  void trace_end(BranchId branch, const Status& status) noexcept;
  void run_nodes(BranchId branch, Participant& self);
  Status run_node(NodeId id, Participant& self, Buffers& buffers);
  void run_planned(NodeId id, Participant& self, Buffers& buffers);
  using FixedInputs = std::vector<const std::byte*>;  // BoundKernel::fixed
  void run_tiles(NodeId id, const NodeKernel& code, const FixedInputs& fixed, Scratch scratch,
                 DynamicOutputs* dynamic, Participant& self, Buffers& buffers);

  // control_flow.cc: If, Loop and Scan. Bodies run on the thread of the node; only their tiles are
  // shared.
  Status run_bodies(NodeId id, Participant& self);
  Status start_body(std::span<const std::byte* const> inputs, std::span<const Dims> dims,
                    const PlaceOutput& place);
  Status run_in_body(Participant& self);
  void add_body_trace(const Run& inner, NodeId id);
  Status adopt_output(NodeId node, ValueId id, const Dims& dims, std::byte* bytes);

  // objects.cc: nodes that read or make objects.
  Status run_objects(NodeId id, Participant& self, Buffers& buffers);
  Result<Object> object_of(ValueId id) const;
  /// Sets the dims of strings that no node of this run makes.
  void know_object(ValueId id);
  Status store_object(NodeId node, ValueId id, Object object);

  // run_time.cc: nodes whose shapes depend on values.
  Status run_unplanned(NodeId id, Participant& self, Buffers& buffers);
  Result<std::vector<std::optional<Dims>>> infer_outputs(const Node& node) const;
  /// Compiles a kernel for dims that the program has not met, and keeps it with the program for
  /// later runs.
  Result<std::shared_ptr<const BoundKernel>> kernel_for(
      NodeId id, std::span<const std::optional<Dims>> outputs);
  /// Returns the dims of `id` that the plan or earlier values determine; 0 for the others.
  Dims known_dims(ValueId id);
  /// The memory of an output of a body is the one that `place_` provides. Errors: those of
  /// bind_symbols(); kBudgetExceeded, kOutOfMemory.
  Result<std::byte*> make_output(NodeId node, ValueId id, const Dims& dims);
  /// kInvalidInput if a dimension contradicts the model or an earlier value.
  Status bind_symbols(ValueId id, const Dims& dims);
  void release(ValueId root);
  void give_back(ValueId root);
  void release_unread_outputs(const Node& node);
  DynamicArena& arena_of(NodeId node);

  const Program& program_;
  const Compiled& compiled_;
  RunMemory::Lease& lease_;
  const ExecuteOptions& options_;
  std::chrono::steady_clock::time_point begin_;
  std::byte* block_;  ///< first byte of the arena
  Scratch scratch_;
  int threads_;
  RunLimits own_limits_;
  RunLimits* limits_ = &own_limits_;
  BodyRunner* host_ = nullptr;               ///< runs this body; null in the outermost run
  Device* device_ = nullptr;                 ///< runs the regions; null: none does
  std::shared_ptr<AsyncSteps> async_steps_;  ///< shared with the outermost run
  std::shared_ptr<DeviceRun> device_run_;
  IdVector<BranchId, Substitute> substitute_;  // written before the branch is ready again
  IdVector<BranchId, std::shared_ptr<void>> device_bound_;  // destroyed with the run
  const PlaceOutput* place_ = nullptr;

  const std::shared_ptr<RunBuffers> kept_;
  RunBuffers& buffers_;
  IdVector<ValueId, std::byte*>& bytes_ = buffers_.bytes;
  std::vector<RunBuffers::Output>& outputs_ = buffers_.outputs;
  std::optional<ArenaChecker> live_;
  BlockPool own_pool_;
  BlockPool& pool_;     ///< the pool of the outermost run
  DynamicArena spare_;  // outputs whose destination is not known yet

  Mutex staged_mutex_;
  IdVector<ValueId, bool>& staged_ PX_GUARDED_BY(staged_mutex_) = buffers_.staged;
  // Events for the trace, and values of symbols.

  mutable Mutex mutex_;
  std::vector<RegionEvent> region_events_ PX_GUARDED_BY(mutex_);
  std::vector<CopyEvent> copy_events_ PX_GUARDED_BY(mutex_);
  std::vector<TraceEvent> events_ PX_GUARDED_BY(mutex_);
  std::vector<NodeEvent> body_events_ PX_GUARDED_BY(mutex_);
  std::vector<std::optional<std::int64_t>> symbol_values_ PX_GUARDED_BY(mutex_);

  // Used only if some node is compiled during the run:
  IdVector<ValueId, Dims> run_time_dims_;
  IdVector<ValueId, Object> objects_;       // bytes_ of object values point here
  std::shared_ptr<ObjectAccount> account_;  // shared with the outermost run
  IdVector<BranchId, std::unique_ptr<DynamicArena>> arenas_;
  std::unique_ptr<std::atomic<std::int32_t>[]> readers_;  // readers left, by value
};

}  // namespace parallax
