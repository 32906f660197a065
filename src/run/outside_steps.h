// The steps of one run and of its bodies that a device has begun and not completed. Each of them
// ends once: the device completes it, or the run abandons it because its caller cancels it or its
// time is over. An answer that comes later finds it abandoned and only frees the memory that waited
// for it. Internal to run/.
//
// Thread-safe. A step is left as long as a thread that ends it touches the run: a caller that finds
// no step left may destroy the run. Steps end without the mutex, as this may call the user's log
// and allocator, and Device::late().
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/deadline.h"
#include "base/mutex.h"
#include "run/device.h"
#include "run/dynamic_arena.h"
#include "run/run_memory.h"

namespace parallax {

class Run;

/// To a device or back.
struct CopyOfValue {
  ValueId value;
  bool to_device = false;
  std::int64_t bytes = 0;
  std::chrono::steady_clock::time_point begin;
};

/// Is told of each step that ended, except those of bodies, by the thread that ends it, without
/// locks and concurrently. Must not throw, nor begin a step.
class StepListener {
 public:
  virtual ~StepListener() = default;
  /// `again`: it is to run once more, on the CPU. Returns a region that waits for nothing more, for
  /// the calling thread to begin; invalid: there is none.
  virtual BranchId step_ended(BranchId branch, bool again) = 0;
  /// The pool is to begin the region that step_ended() returned, or to run it.
  virtual void leave_to_pool(BranchId branch) = 0;
};

/// What is to be called when a run does not wait for a step any more. Thread-safe.
class AbandonHook {
 public:
  /// Calls `cancel` at once where call() has been called.
  void set(std::function<void()> cancel);
  void call() noexcept;

 private:
  Mutex mutex_;
  bool called_ PX_GUARDED_BY(mutex_) = false;
  std::function<void()> cancel_ PX_GUARDED_BY(mutex_);
};

class OutsideSteps : public std::enable_shared_from_this<OutsideSteps> {
 public:
  /// `region_time`: as in ExecuteOptions.
  explicit OutsideSteps(Run& run, std::chrono::nanoseconds region_time = {}, bool traced = false)
      : run_(run), region_time_(region_time), traced_(traced) {}

  /// For the steps from here on; null: none is told.
  void tell(StepListener* listener);
  /// Begins a step of `run`, which is this one or that of a body; false where it has failed before.
  bool begin(Run& run, BranchId branch, Device& device, RegionRun region);
  /// A copy beside the regions, for `region`: no step waits for it, but the end of `run`.
  void begin_copy(Run& run, RegionId region, Device& device, DeviceRun& of,
                  const RegionTensor& value);
  // `step`: the number that begin() gave it.
  void complete(BranchId step, Status status) noexcept;
  bool has_begun(BranchId step) const;
  /// Ends the run with `error`, as late steps do.
  void lose(BranchId step, Error error) noexcept;
  void copied(BranchId step, const CopyOfValue& copy) noexcept;
  /// The run ends with `error` if a step is left.
  void abandon(Error error) noexcept;
  /// Returns when no step is left, of `only` where that is given; abandons all where `deadline`
  /// comes first, or one takes too long.
  void wait(const Deadline& deadline, const Run* only = nullptr);
  /// When a caller that waits elsewhere has to look for these two; nothing: never.
  std::optional<Deadline::Time> patience(const Deadline& deadline) const;
  void look(const Deadline& deadline);
  /// A step has taken too long.
  bool is_late() const {
    const MutexLock lock(mutex_);
    return late_;
  }
  /// Returns when the threads that ended steps have let go of the run.
  void settle() {
    const MutexLock lock(mutex_);
    while (!ending_.empty()) changed_.wait(mutex_);
  }
  /// The run goes: keeps `arenas`, which leave their pool, for devices that have not answered.
  void take_over(IdVector<BranchId, std::unique_ptr<DynamicArena>>& arenas);
  /// When the run is over and gone: keeps the lease, and what the lease needs, until the device has
  /// answered for every step that was abandoned.
  void keep(RunMemory::Lease& lease, std::shared_ptr<const void> owner);

 private:
  /// What a device may touch when the run is over. Members go in reverse order.
  struct Memory {
    std::shared_ptr<const void> owner = nullptr;
    std::optional<RunMemory::Lease> lease = {};
    IdVector<BranchId, std::unique_ptr<DynamicArena>> arenas = {};
    std::int64_t arena_bytes = 0;  ///< of the lease
  };

  struct Begun {
    BranchId number;  ///< of a copy, or in a body: one that no branch of the run has
    Run* run;
    BranchId branch;  ///< of `run`; invalid: a copy
    RegionId region;
    Device* device;
    Deadline::Time until;
    std::shared_ptr<AbandonHook> hook;
    bool copies() const { return !branch.valid(); }
  };

  /// Steps that the run no longer waits for.
  struct Abandoned {
    std::vector<Begun> steps;
    std::optional<Error> late = {};  ///< if set, the first step has taken too long
  };

  Completion add_begun(Run& run, BranchId branch, RegionId region, Device& device)
      PX_REQUIRES(mutex_);
  bool is_left(const Run* only) const PX_REQUIRES(mutex_);
  std::optional<Abandoned> wait_for(const Deadline& deadline, const Run* only);
  std::optional<Begun> take_begun(BranchId step) PX_REQUIRES(mutex_);
  std::unique_ptr<Memory> take_answered(BranchId step) PX_REQUIRES(mutex_);
  std::optional<Abandoned> take_late() PX_REQUIRES(mutex_);
  std::vector<Begun> take_all(Error error) PX_REQUIRES(mutex_);
  StepListener* listener_of(const Begun& step) const;
  // Called without the mutex: they call foreign code.
  void end(const Begun& step, Status status) noexcept;
  void end_abandoned(const Abandoned& abandoned) noexcept;
  void begin_next(BranchId branch, StepListener& listener) noexcept;
  void let_go(std::span<const Begun> steps) noexcept;

  Run& run_;  // the outermost, while a step is left, or the caller is a thread of the run
  const std::chrono::nanoseconds region_time_;
  const bool traced_;
  mutable Mutex mutex_{LockOrder::kSteps};
  Condition changed_;
  StepListener* listener_ PX_GUARDED_BY(mutex_) = nullptr;
  std::vector<Begun> begun_ PX_GUARDED_BY(mutex_);
  std::vector<const Run*> ending_ PX_GUARDED_BY(mutex_);  // a run for each step that a thread ends
  std::vector<BranchId> abandoned_ PX_GUARDED_BY(mutex_);
  std::int32_t next_number_ PX_GUARDED_BY(mutex_) = -2;  // of the next step without a branch here
  bool late_ PX_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Memory> memory_ PX_GUARDED_BY(mutex_) = std::make_unique<Memory>();
};

}  // namespace parallax
