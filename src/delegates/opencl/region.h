// A part of a model on one device: compiled once, bound to each combination of sizes, run often.
// Thread-safety: compile and bind are pure but for the device; several threads may run a Binding
// concurrently, and the device serializes the runs.
//
// Order of calls: compile(), bind() for each combination of sizes, run() any number of times. A
// Binding keeps its Region alive, a Region its context.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "delegates/opencl/constants.h"
#include "delegates/opencl/device/cl_context.h"
#include "delegates/opencl/device/device_memory.h"
#include "delegates/opencl/emit/emit.h"
#include "delegates/opencl/steps.h"

namespace parallax::opencl {

/// Options of compilation; the defaults suit the device.
struct RegionOptions {
  /// Products use local memory, which suits GPUs; nullopt: unless the device is a CPU.
  std::optional<bool> through_local_memory;
  /// Tile sizes of product kernels.
  Tuning tuning;
  /// Each tensor inside gets its own buffer, so that a checker detects accesses outside of it.
  bool separate_buffers = false;
  /// Floats are stored in 16 bits in constants and inside the region; inputs, outputs and sums have
  /// 32.
  bool half = false;
  /// Maximum work-groups along the second and third axis of a grid; larger grids become several
  /// launches. nullopt: the device's known limit.
  std::optional<std::size_t> most_groups;
};

/// A kernel that is ready to launch.
struct ReadyKernel {
  std::shared_ptr<ClProgram> program;
  OwnedKernel kernel;
};

class Binding;

/// A compiled graph: programs, kernels and constants, but no memory for values. Immutable.
class Region {
 public:
  /// Compiles a graph whose kSymbolic values are known when it is bound; the constants' bytes must
  /// outlive the region. Builds programs, finishes kernels and uploads constants, which needs
  /// seconds the first time on a device. Errors: kUnsupported for operators that the delegate
  /// lacks; kOutOfMemory, kInternal. Blocks the calling thread. Errors of operators name the node.
  static Result<std::shared_ptr<const Region>> compile(std::shared_ptr<ClContext> context,
                                                       Graph graph,
                                                       const RegionOptions& options = {});

  /// Binds the region to sizes and allocates memory. `values`: the dims of each value, and bytes of
  /// constants and symbolic values. Errors: kUnsupported for tensors of more than kMaxElements
  /// elements, and cases that no kernel covers; kOutOfRange and kInvalidInput for parameters that
  /// contradict the sizes; kOutOfMemory, kInternal. `values` are in the order of the first
  /// value_count() values of graph(); bytes that `values` point to are copied. Plans memory with
  /// 100,000 steps of search, tens of milliseconds at most, and enqueues no commands.
  static Result<std::shared_ptr<Binding>> bind(const std::shared_ptr<const Region>& region,
                                               std::span<const TensorDesc> values);

  /// Returns the graph given to compile(), with further values after its own.
  const Graph& graph() const { return graph_; }
  /// Returns the number of values of the graph given to compile().
  std::size_t value_count() const { return graph_.values.size() - like_.size(); }
  /// Returns bytes of device memory: constants that are not in host memory. They live as long as
  /// the region.
  std::int64_t memory_bytes() const { return constants_.copied_bytes(); }

 private:
  friend class Binding;
  friend class Binder;
  Region() = default;
  /// Builds all programs that steps of the region need.
  Status make_kernels();
  /// Places the constants that steps read.
  Status place_constants();
  /// Creates the kernel object of `spec`, once per name.
  Status make_ready(const KernelSpec& spec);
  /// Runs a kernel once without effect, so that the driver finishes compiling it. Waits for the
  /// launch. Only the first region of a device that needs the kernel does it.
  Status warm_up(const KernelSpec& spec, const ReadyKernel& ready);
  bool needs(KernelId id) const;

  /// Keeps the device open.
  std::shared_ptr<ClContext> context_;
  Graph graph_;
  std::vector<ValueId> like_;  ///< for each further value: the one that has its type and sizes
  KernelSpecs specs_;
  std::size_t most_groups_ = 0;
  bool local_memory_ = false, separate_buffers_ = false, half_ = false;
  std::vector<Step> steps_;
  std::vector<KernelSpec> chains_;  ///< generated kernel of each step; empty if it is no chain
  std::map<std::string, ReadyKernel> kernels_;
  RegionConstants constants_;
  OwnedBuffer nothing_;  ///< placeholder for arguments that a kernel does not access
};

/// The location of a run's input or output. The run does not own the buffer.
struct BufferPart {
  cl_mem buffer = nullptr;
  std::int64_t offset = 0;         ///< bytes, a multiple of an element's size
  DeviceMemory* memory = nullptr;  ///< the owner of the buffer, if the host can access it; else
                                   ///< null
};

/// A region with memory for one combination of sizes. Runs of one binding share its memory, so they
/// follow each other on the device.
class Binding : public std::enable_shared_from_this<Binding> {
 public:
  /// Starts a run and returns; `done` is called later, by a thread of the device. Inputs and
  /// outputs are in the graph's order and must live until then. `name` identifies the run for
  /// cancel(). All errors are passed to `done`, kOutOfRange for an index among them. Blocks only
  /// for the lock of Commands. The spans may end with the call; the buffers must live until `done`.
  /// `done` is called exactly once, on success when the outputs are complete, and may destroy the
  /// binding.
  void run(std::span<const BufferPart> inputs, std::span<const BufferPart> outputs,
           Completions::Call done, const void* name = nullptr);
  /// Skips launches that the device has not received of the runs with that name. A run ends with
  /// kCancelled if any were skipped. Launches that the device has received are completed first, so
  /// the memory stays in use until `done`. A run that has not begun ends without waiting for
  /// others. Any thread may call it.
  void cancel(const void* name);
  /// Returns bytes of device memory for tensors inside, constants excluded.
  std::int64_t memory_bytes() const { return memory_bytes_; }
  std::size_t input_count() const { return region_->graph().inputs.size(); }
  std::size_t output_count() const { return region_->graph().outputs.size(); }
  /// Returns the names of the kernels that a run launches.
  std::set<std::string_view> kernels() const;

 private:
  friend class Binder;
  /// The kind of memory that holds a tensor.
  /// kNothing: no memory is needed. kBuffer: memory of the binding. kInput, kOutput: memory of a
  /// run.
  enum class PlaceKind : std::uint8_t { kNothing, kBuffer, kInput, kOutput };
  struct Place {
    PlaceKind kind = PlaceKind::kNothing;
    std::size_t index = 0;    ///< index of the run's input or output
    cl_mem buffer = nullptr;  ///< kBuffer
    std::int64_t offset = 0;  ///< bytes
  };
  /// A launch with the kernel object that runs it. `kernel` belongs to the region.
  struct ReadyLaunch {
    Launch launch;
    cl_kernel kernel;
    std::array<std::size_t, 3> first;  ///< first work-group of the launch
  };
  struct Run;

  explicit Binding(std::shared_ptr<const Region> region) : region_(std::move(region)) {}
  /// Enqueues slices of runs, in the order of the runs, up to the limit of slices ahead. Up to
  /// three slices of 32 launches are enqueued ahead, so that the device does not wait for the host.
  void give(const ClContext::Commands& commands);
  void give_slice(const ClContext::Commands& commands, const std::shared_ptr<Run>& run);
  /// Called when the device has completed a slice: enqueues more, or ends the run.
  static void slice_ended(std::shared_ptr<Run> run, Status status);
  Status enqueue_begin(const ClContext::Commands& commands, Run& run);
  Status enqueue_end(const ClContext::Commands& commands, Run& run);
  Status enqueue_slice(const ClContext::Commands& commands, Run& run);
  /// Enqueues one launch, with its tensor arguments set for the run.
  Status enqueue_launch(const ClContext::Commands& commands, const ReadyLaunch& ready,
                        const Run& run);
  Status set_tensor(cl_kernel kernel, cl_uint& at, const TensorArgument& tensor, const Run& run);

  std::shared_ptr<const Region> region_;
  std::vector<Place> places_;
  std::vector<ReadyLaunch> launches_;
  std::vector<std::string> marks_;  ///< node names, indexed by the mark of their faults less 1
  std::vector<OwnedBuffer> memory_;
  OwnedBuffer fault_;
  std::int64_t memory_bytes_ = 0;
  std::deque<std::shared_ptr<Run>> runs_;  ///< not enqueued completely; guarded by the lock of
                                           ///< Commands
};

}  // namespace parallax::opencl
