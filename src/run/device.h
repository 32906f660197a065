// What runs the regions of a program elsewhere. A step of a plan is a branch that the pool runs or
// a region that a device runs; the thread that completes it, a worker or one of the device's, lets
// go of the steps that wait for it. Internal to run/.
//
// Thread-safety: a Completion may be called by any thread; a Device and its memory are called by
// all threads of a pool.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bind/program.h"
#include "parallax/result.h"
#include "parallax/tensor.h"

namespace parallax {

class OutsideSteps;

struct RegionTensor {
  ValueId value;
  DType dtype = DType::kF32;
  Dims dims;
  std::byte* bytes = nullptr;
  /// kDevice: `bytes` are the device's own, and all tensors of the region are there.
  MemorySpace space = MemorySpace::kHost;
};

/// One run of a region.
struct RegionRun {
  RegionId region;
  std::vector<RegionTensor> inputs;   ///< values that no step of this region makes, each once
  std::vector<RegionTensor> outputs;  ///< values that other steps read, kShared or kDevice
};

/// Memory that only a device reads and writes.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// Freed when the last copy is gone. Errors: kOutOfMemory.
  virtual Result<std::shared_ptr<std::byte>> allocate(std::int64_t bytes) = 0;
  virtual Status write(std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
  virtual Status read(std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
};

/// What a region has made in the device's own memory, and where the CPU reads it.
struct CopyBack {
  std::shared_ptr<const std::byte> from;
  std::byte* to = nullptr;
  std::int64_t bytes = 0;
};

/// Tells that a region is done, or why it is not. The first call counts, any thread may make it;
/// where the last copy goes without a call, the region has failed.
class Completion {
 public:
  struct Copies {
    DeviceMemory* memory = nullptr;
    std::vector<std::shared_ptr<const std::byte>> inputs;  ///< that the device may still read
    std::vector<CopyBack> outputs;
  };
  Completion(std::shared_ptr<OutsideSteps> steps, BranchId branch, Copies copies);
  void operator()(Status status) const;
  /// Whether the run still waits for it. False soon after the run has ended.
  bool is_wanted() const;

 private:
  struct Step;
  std::shared_ptr<Step> step_;
};

class Device {
 public:
  virtual ~Device() = default;
  /// Its own memory, in which regions then find their tensors; null: it works in the CPU's.
  virtual DeviceMemory* memory() { return nullptr; }
  /// Why the CPU runs a region from the start, where the plan has a substitute: it has failed
  /// before. Nothing: the device runs it. A run asks once.
  virtual std::optional<Error> problem(RegionId) const { return std::nullopt; }
  /// A region has taken longer than ExecuteOptions::region_time: its run has ended with `error`.
  /// Must not call back.
  virtual void late(RegionId, const Error& /*error*/) noexcept {}
  /// Begins to run a region and returns; calls `done` then or later. Of tensors in kHost it may
  /// touch nothing after it has returned, and of others nothing after the call of `done`. The run
  /// may end before that call: the memory of these tensors waits for it nevertheless. What it
  /// throws fails the region.
  virtual void start(RegionRun run, Completion done) = 0;
};

}  // namespace parallax
