// A part of a model on one device: compiled once, bound to each combination of sizes, run often.
// Thread-safety: compile and bind are pure but for the device; a Binding may be run by several
// threads at once, the device then does one run after the other.
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

#include "delegates/opencl/cl_context.h"
#include "delegates/opencl/constants.h"
#include "delegates/opencl/device_memory.h"
#include "delegates/opencl/emit.h"
#include "delegates/opencl/steps.h"

namespace parallax::opencl {

struct RegionOptions {
  /// Products go through local memory, as GPUs like it; nothing: unless the device is a CPU.
  std::optional<bool> through_local_memory;
  /// Sizes of kernels.
  Tuning tuning;
  /// Each tensor inside gets a buffer of its own, so that a checker sees what leaves its tensor.
  bool separate_buffers = false;
  /// Floats have 16 bits in constants and inside the region. Inputs, outputs and sums have 32.
  bool half = false;
  /// Work-groups along the second and third index of a grid; what has more is several launches.
  /// Nothing: what the device is known to take.
  std::optional<std::size_t> most_groups;
};

/// A kernel ready to be launched.
struct ReadyKernel {
  std::shared_ptr<ClProgram> program;
  OwnedKernel kernel;
};

class Binding;

class Region {
 public:
  /// Takes a graph whose kSymbolic values are known when it is bound; constants' bytes must outlive
  /// the region. Builds programs, finishes kernels and uploads constants; seconds, the first time
  /// on a device. Errors: kUnsupported for what the delegate lacks,
  /// kOutOfMemory, kInternal.
  static Result<std::shared_ptr<const Region>> compile(std::shared_ptr<ClContext> context,
                                                       Graph graph,
                                                       const RegionOptions& options = {});

  /// `values`: of each value its dims, and the bytes of constants and symbolic ones. Errors:
  /// kLimitExceeded for tensors that kernels cannot index, kOutOfRange and kInvalidInput for
  /// parameters that contradict the sizes, kUnsupported, kOutOfMemory.
  static Result<std::shared_ptr<Binding>> bind(const std::shared_ptr<const Region>& region,
                                               std::span<const TensorDesc> values);

  /// That of compile, and further values behind its own.
  const Graph& graph() const { return graph_; }
  /// Of the graph of compile.
  std::size_t value_count() const { return graph_.values.size() - like_.size(); }
  /// Of the device's: constants that do not lie in the host's memory.
  std::int64_t memory_bytes() const { return constants_.copied_bytes(); }

 private:
  friend class Binding;
  friend class Binder;
  Region() = default;
  Status make_kernels();
  Status place_constants();
  Status make_ready(const KernelSpec& spec);
  Status warm_up(const KernelSpec& spec, const ReadyKernel& ready);
  bool needs(KernelId id) const;

  std::shared_ptr<ClContext> context_;
  Graph graph_;
  std::vector<ValueId> like_;  ///< of each further value: whose type and sizes it has
  KernelSpecs specs_;
  std::size_t most_groups_ = 0;
  bool local_memory_ = false, separate_buffers_ = false, half_ = false;
  std::vector<Step> steps_;
  std::vector<KernelSpec> chains_;  ///< of each step, empty where it is none
  std::map<std::string, ReadyKernel> kernels_;
  RegionConstants constants_;
  OwnedBuffer nothing_;  ///< for arguments that a kernel does not touch
};

/// A tensor in memory of the device.
struct BufferPart {
  cl_mem buffer = nullptr;
  std::int64_t offset = 0;         ///< bytes, a multiple of an element's size
  DeviceMemory* memory = nullptr;  ///< whose buffer it is, if the host sees it
};

class Binding : public std::enable_shared_from_this<Binding> {
 public:
  /// Begins a run and returns; `done` is called later, by a thread of the device's. Inputs and
  /// outputs are those of the graph, in its order; they stay until then. `name` is what cancel
  /// tells the run by. Errors, kOutOfRange for an index, come with `done`.
  void run(std::span<const BufferPart> inputs, std::span<const BufferPart> outputs,
           Completions::Call done, const void* name = nullptr);
  /// What the device has not been given of the runs of that name is left out. They end with
  /// kCancelled where something was.
  void cancel(const void* name);
  std::int64_t memory_bytes() const { return memory_bytes_; }
  std::size_t input_count() const { return region_->graph().inputs.size(); }
  std::size_t output_count() const { return region_->graph().outputs.size(); }
  /// Names of the kernels that a run launches.
  std::set<std::string_view> kernels() const;

 private:
  friend class Binder;
  /// Where a tensor is.
  enum class PlaceKind : std::uint8_t { kNothing, kBuffer, kInput, kOutput };
  struct Place {
    PlaceKind kind = PlaceKind::kNothing;
    std::size_t index = 0;    ///< of a run's input or output
    cl_mem buffer = nullptr;  ///< kBuffer
    std::int64_t offset = 0;  ///< bytes
  };
  struct ReadyLaunch {
    Launch launch;
    cl_kernel kernel;
    std::array<std::size_t, 3> first;  ///< work-group that it begins with
  };
  struct Run;

  explicit Binding(std::shared_ptr<const Region> region) : region_(std::move(region)) {}
  void give(const ClContext::Commands& commands);
  void give_slice(const ClContext::Commands& commands, const std::shared_ptr<Run>& run);
  static void slice_ended(std::shared_ptr<Run> run, Status status);
  Status enqueue_begin(const ClContext::Commands& commands, Run& run);
  Status enqueue_end(const ClContext::Commands& commands, Run& run);
  Status enqueue_slice(const ClContext::Commands& commands, Run& run);
  Status enqueue_launch(const ClContext::Commands& commands, const ReadyLaunch& ready,
                        const Run& run);
  Status set_tensor(cl_kernel kernel, cl_uint& at, const TensorArgument& tensor, const Run& run);

  std::shared_ptr<const Region> region_;
  std::vector<Place> places_;
  std::vector<ReadyLaunch> launches_;
  std::vector<std::string> marks_;  ///< names of nodes by the mark of their faults, less 1
  std::vector<OwnedBuffer> memory_;
  OwnedBuffer fault_;
  std::int64_t memory_bytes_ = 0;
  std::deque<std::shared_ptr<Run>> runs_;  ///< not given as a whole; under the lock of Commands
};

}  // namespace parallax::opencl
