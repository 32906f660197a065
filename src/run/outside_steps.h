// The steps of one run that a device has begun and not completed. Each of them ends once: the
// device completes it, or the run abandons it because its caller cancels it or its time is over. An
// answer that comes later finds it abandoned and only frees the memory that waited for it. Internal
// to run/.
//
// Thread-safe. A thread that ends a step holds the mutex as long as it touches the run: a caller
// that finds no step left under the mutex may destroy the run.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/deadline.h"
#include "base/mutex.h"
#include "run/device.h"
#include "run/run_memory.h"

namespace parallax {

class Run;

/// Is told of each step that ended, by the thread that ends it, under the mutex. Must not throw,
/// nor begin a step.
class StepListener {
 public:
  virtual ~StepListener() = default;
  /// `again`: it is to run once more, on the CPU.
  virtual void step_ended(BranchId branch, bool again) = 0;
};

class OutsideSteps : public std::enable_shared_from_this<OutsideSteps> {
 public:
  /// `region_time`: as in ExecuteOptions.
  explicit OutsideSteps(Run& run, std::chrono::nanoseconds region_time = {})
      : run_(run), region_time_(region_time) {}

  /// For the steps from here on; null: none is told.
  void tell(StepListener* listener);
  /// Begins a step; false where the run has failed before.
  bool begin(BranchId branch, Device& device, RegionRun region, Completion::Copies copies);
  void complete(BranchId branch, Status status) noexcept;
  bool has_begun(BranchId branch) const;
  /// The run ends with `error` if a step is left.
  void abandon(Error error) noexcept;
  /// Returns when no step is left; abandons them where `deadline` comes first, or one takes too
  /// long.
  void wait(const Deadline& deadline);
  /// When a caller that waits elsewhere has to look for these two; nothing: never.
  std::optional<Deadline::Time> patience(const Deadline& deadline) const;
  void look(const Deadline& deadline);
  /// A step has taken too long.
  bool is_late() const {
    const MutexLock lock(mutex_);
    return late_;
  }
  /// Returns when the thread that ended a step has let go of the run.
  void settle() { const MutexLock lock(mutex_); }
  /// When no step is left: what devices write besides the block of the lease, and how many bytes
  /// the lease has reserved for it.
  void hold(std::vector<AlignedBytes> outputs, std::int64_t reserved) noexcept;
  /// When the run is over and gone: gives all this back, or keeps it, the lease, and what the lease
  /// needs, until the device has answered for every step that was abandoned.
  void keep(RunMemory::Lease& lease, std::shared_ptr<const void> owner);

 private:
  /// What a device may touch when the run is over. Members go in reverse order.
  struct Memory {
    ~Memory() {
      outputs.clear();
      if (lease) lease->release(reserved);
    }
    std::shared_ptr<const void> owner = nullptr;
    std::optional<RunMemory::Lease> lease = {};
    std::int64_t reserved = 0;
    std::vector<AlignedBytes> outputs = {};
  };

  struct Begun {
    BranchId branch;
    RegionId region;
    Device* device;
    Deadline::Time until;
  };

  bool take_begun(BranchId branch) PX_REQUIRES(mutex_);
  bool abandon_late() PX_REQUIRES(mutex_);
  void end(BranchId branch, bool again) PX_REQUIRES(mutex_);
  void abandon_all(Error error) PX_REQUIRES(mutex_);

  Run& run_;  // while begun_ has a step, or the caller is a thread of the run
  const std::chrono::nanoseconds region_time_;
  mutable Mutex mutex_;
  Condition changed_;
  StepListener* listener_ PX_GUARDED_BY(mutex_) = nullptr;
  std::vector<Begun> begun_ PX_GUARDED_BY(mutex_);
  std::vector<BranchId> abandoned_ PX_GUARDED_BY(mutex_);
  bool late_ PX_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Memory> memory_ PX_GUARDED_BY(mutex_) = std::make_unique<Memory>();
};

}  // namespace parallax
