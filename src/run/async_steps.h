// The asynchronous steps of one run and of its bodies: those that a device has begun and not
// completed. Each of them ends once: the device completes it, or the run abandons it because its
// caller cancels it or its time is up. A later answer finds it abandoned and only frees the memory
// that was kept for it. Internal to run/.
//
// A step is begun until the device completes it or the run abandons it; then it is ending as long
// as the thread that ends it accesses the run. It is pending while it is begun or ending: a caller
// that finds no pending step may destroy the run.
//
// Thread-safe. Steps end without the mutex, because this may call the user's log and allocator, and
// Device::late(). Callers of begin(), begin_copy(), complete(), fail(), abandon(), wait() and
// look() hold no locks.
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

/// A copy of a tensor to a device or back, for the trace. `begin` is a time of the steady clock;
/// the copy ends when it is recorded.
struct CopyOfValue {
  ValueId value;
  bool to_device = false;
  std::int64_t bytes = 0;
  std::chrono::steady_clock::time_point begin;
};

/// Receives the end of each step, except copies and steps of bodies, on the thread that ends it,
/// without locks and concurrently. Must not throw, nor begin a step. The dataflow executor
/// implements it.
class StepListener {
 public:
  virtual ~StepListener() = default;
  /// Handles the end of a step. `again`: the CPU must run the region as a fallback. Returns a
  /// region that is ready, for the calling thread to begin; invalid: no region is ready.
  virtual BranchId step_ended(BranchId branch, bool again) = 0;
  /// Passes the region that step_ended() returned to the pool, which begins or runs it. Called if
  /// the thread did not begin it: because the run has failed, because the CPU must run the region,
  /// or because the thread is already inside the start of a region that step_ended() returned.
  virtual void leave_to_pool(BranchId branch) = 0;
};

/// A function that is called when a run no longer waits for a step. Thread-safe. Shared by the step
/// and its Completion, so it may outlive the run.
class AbandonHook {
 public:
  /// Sets the function; calls it immediately if call() was called before. Replaces a function that
  /// was set before. `cancel` is called without the mutex, on the thread of set() or of call().
  void set(std::function<void()> cancel);
  /// Calls the function, the first time only. The function must not throw. It is destroyed
  /// afterwards, on this thread.
  void call() noexcept;

 private:
  Mutex mutex_;
  bool called_ PX_GUARDED_BY(mutex_) = false;
  std::function<void()> cancel_ PX_GUARDED_BY(mutex_);
};

/// The asynchronous steps of one outermost run. Outlives the run while a device has not answered.
class AsyncSteps : public std::enable_shared_from_this<AsyncSteps> {
 public:
  /// `region_time`: as in ExecuteOptions. `traced`: records copies. Make it with std::make_shared:
  /// each Completion keeps it alive.
  explicit AsyncSteps(Run& run, std::chrono::nanoseconds region_time = {}, bool traced = false)
      : run_(run), region_time_(region_time), traced_(traced) {}

  /// Sets the listener for the steps that end from now on; null: none. A thread that is ending a
  /// step may still call the previous listener: call settle() before you destroy that listener.
  void set_listener(StepListener* listener);
  /// Begins a step of `run`, which is the outermost run or that of a body. Returns false if the
  /// outermost run has failed before. Calls Device::start() on this thread, without the mutex; an
  /// exception of it ends the step with an error. The step may have ended before this returns.
  /// Throws std::bad_alloc before the step has begun.
  bool begin(Run& run, BranchId branch, Device& device, RegionRun region);
  /// Begins a copy for `region` in advance: no step waits for it, but the end of `run` does. Does
  /// nothing if the outermost run has failed. If the copy fails, or Device::start_copy() throws,
  /// the run goes on: the region copies again.
  void begin_copy(Run& run, RegionId region, Device& device, DeviceRun& of,
                  const RegionTensor& value);
  /// Ends a step, unless it has ended. `step`, here and below: the number that its Completion
  /// holds. If `status` is an error, the CPU runs the region as a fallback, or the run fails if
  /// regions have none. Any thread may call it. For an abandoned step it only frees memory that was
  /// kept. May begin the next region on this thread.
  void complete(BranchId step, Status status) noexcept;
  /// Whether the step has begun and not ended.
  bool has_begun(BranchId step) const;
  /// Reports that the device has lost a step: calls Device::late(), fails the run with `error`,
  /// sets is_late(), and ends the step; other steps stay pending. As complete() if the step has
  /// ended. REQUIRES: the step is not a copy.
  void fail(BranchId step, Error error) noexcept;
  /// Records a copy of the step for the trace.
  void copied(BranchId step, const CopyOfValue& copy) noexcept;
  /// Abandons all steps that are begun; if there are any, the run ends with `error`, which then
  /// names the first region among them, unless it is kCancelled or all are copies. Does not wait
  /// for the device; calls the hooks of the steps on this thread, without locks.
  void abandon(Error error) noexcept;
  /// Blocks until no step is pending, of all or of the run `only`; abandons all steps if `deadline`
  /// passes first, or if one exceeds its time. The thread must be one of the run. Returns only when
  /// no thread that ended a step accesses the run. Errors are kept by the run.
  void wait(const Deadline& deadline, const Run* only = nullptr);
  /// Returns the time at which a thread that waits for work of the pool, not in wait(), must call
  /// look(); nullopt: never. If regions have a time limit, it is one eighth of that limit from now,
  /// or `deadline` if that is earlier; otherwise `deadline`.
  std::optional<Deadline::Time> patience(const Deadline& deadline) const;
  /// Abandons all steps if `deadline` has passed, or if one has exceeded its time; does not wait.
  void look(const Deadline& deadline);
  /// Whether a step has exceeded its time or was reported by fail(). execute() reports it to its
  /// caller, which may start again without the device.
  bool is_late() const {
    const MutexLock lock(mutex_);
    return late_;
  }
  /// Blocks until no step is ending. Unlike wait(), does not wait for steps that are begun: the
  /// dataflow executor calls it when no branch is left.
  void settle() {
    const MutexLock lock(mutex_);
    while (!ending_.empty()) changed_.wait(mutex_);
  }
  /// Keeps `arenas`, detached from their pool, for devices that have not answered. Called when the
  /// run is destroyed. Does nothing if no abandoned step awaits an answer: the run frees its arenas
  /// then.
  void take_over(IdVector<BranchId, std::unique_ptr<DynamicArena>>& arenas);
  /// Keeps the lease, and the owner of what it needs, until the device has answered for every
  /// abandoned step. Called after the run was destroyed. Calls RunMemory::Lease::set_aside(); the
  /// lease and the owner are destroyed on the thread of the last answer. If every device has
  /// answered already, only releases the bytes of the arenas.
  void keep(RunMemory::Lease& lease, std::shared_ptr<const void> owner);

 private:
  /// The memory that a device may access after the run. Members are destroyed in reverse order. The
  /// arenas are freed first, then the lease, then their owner.
  struct Memory {
    std::shared_ptr<const void> owner = nullptr;
    std::optional<RunMemory::Lease> lease = {};
    IdVector<BranchId, std::unique_ptr<DynamicArena>> arenas = {};
    std::int64_t arena_bytes = 0;  ///< bytes of the lease that `arenas` hold
  };

  /// A step that is begun.
  struct Begun {
    BranchId number;  ///< the branch; for a copy, or in a body, a number below -1
    /// The run, or that of a body. Valid while the step is pending or ending.
    Run* run;
    BranchId branch;  ///< branch of `run`; invalid: a copy
    RegionId region;
    Device* device;
    /// The time at which the step is late; without meaning if region_time_ is 0.
    Deadline::Time until;
    std::shared_ptr<AbandonHook> hook;
    bool copies() const { return !branch.valid(); }
  };

  /// Steps that the run no longer waits for.
  struct Abandoned {
    std::vector<Begun> steps;
    std::optional<Error> late = {};  ///< if set, the first step has exceeded its time
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

  Run& run_;  // the outermost run; valid while a step is pending, and for threads of the run
  const std::chrono::nanoseconds region_time_;
  const bool traced_;
  mutable Mutex mutex_{LockOrder::kSteps};
  Condition changed_;
  StepListener* listener_ PX_GUARDED_BY(mutex_) = nullptr;
  std::vector<Begun> begun_ PX_GUARDED_BY(mutex_);
  std::vector<const Run*> ending_ PX_GUARDED_BY(mutex_);  // the run of each step that is ending
  std::vector<BranchId> abandoned_ PX_GUARDED_BY(mutex_);
  std::int32_t next_number_ PX_GUARDED_BY(mutex_) = -2;  // for the next copy or step of a body
  bool late_ PX_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Memory> memory_ PX_GUARDED_BY(mutex_) = std::make_unique<Memory>();
};

}  // namespace parallax
