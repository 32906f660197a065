// The threads of a runtime, which its sessions share. Work is divided into independent indices (the
// tiles of a node, the branches of a step). An idle thread takes the next index. The thread that
// offers work can always finish it alone, so nothing waits for a worker to become free.
//
// Workers use no core while no run is in progress. During a run, and for a moment after it, a
// thread without work first spins for a few microseconds, because the next node is usually no
// further away, then yields its core, then parks. With more threads than CPUs it parks immediately,
// and no more threads are woken than there are CPUs. While callers and workers together exceed the
// threads that the pool was made for, workers yield to calling threads after their current tile.
//
// The thread that offers work predicts its time: work shorter than handing it to another thread is
// not offered, and sleepers are woken once the work that they missed, in this run and in those that
// closely preceded it, outweighs waking them.
//
// Instead of its own threads a pool may have guests: workers on threads of a user-provided pool.
// Waking a sleeping worker then means to submit a task, which returns when the worker parks.
//
// Thread-safety: several threads may have a Stay concurrently and share the workers; those that
// find no free slot wait in order of arrival. In a child of fork() there are no workers: a pool of
// the parent can only be destroyed there.
//
// There are as many slots for concurrent runs as threads, but at least 8. Threads of the pool hold
// no lock while they run work. Predicted times are nanoseconds on one thread; they decide only who
// works, never results.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/machine/cpu.h"
#include "base/machine/fork.h"
#include "base/machine/thread_affinity.h"
#include "base/mutex.h"
#include "parallax/runtime.h"
#include "run/pool/missed_work.h"
#include "run/pool/run_slots.h"

namespace parallax {

class Participant;

/// Work whose indices run in any order, on several threads concurrently. The owner keeps it alive
/// until share() or share_growing() has returned; no thread accesses it after that.
class SharedWork {
 public:
  virtual ~SharedWork() = default;
  /// Runs one index, on the thread `self`. Must not throw. Each index is run exactly once. Calls
  /// for different indices run concurrently.
  virtual void run(std::int64_t index, Participant& self) = 0;
};

class Growth;

/// Work whose indices become ready one after the other, while other indices run.
class GrowingWork : public SharedWork {
 public:
  /// Called before all other functions, with the object by which threads outside the pool add to
  /// this work.
  virtual void begins(const Growth&) {}
  /// Whether nothing runs and nothing will become ready. Called repeatedly by the thread that
  /// offers the work, which returns once it is true.
  virtual bool finished() const = 0;
  /// The time until which the thread that offers the work may sleep; nullopt: without limit.
  virtual std::optional<std::chrono::steady_clock::time_point> patience() const { return {}; }
  /// Called by that thread whenever it has slept.
  virtual void waited() {}
};

/// The level of work, which decides the order in which idle threads take indices. A branch may
/// offer tiles; a tile must not offer work. Threads that wait in a run take only tiles of their own
/// run.
enum class WorkLevel : std::uint8_t { kBranches, kTiles };

/// The predicted nanoseconds of work of unknown length.
inline constexpr double kLong = 1e18;

/// A pool of workers.
class WorkerPool {
 public:
  static constexpr int kAll = std::numeric_limits<int>::max();  ///< as many threads as possible
  /// `threads` includes a caller: there are never more than threads - 1 workers. `cpus`: the CPUs
  /// that the process may use. `at_first`: the argument of a first start(). `users`: the pool that
  /// provides threads; null: the pool starts its own. `threads` below 1 counts as 1. Threads that
  /// the system does not provide are left out.
  explicit WorkerPool(int threads, int cpus = usable_cpus(), int at_first = kAll,
                      std::shared_ptr<ThreadPool> users = nullptr);
  /// Joins its workers; those on a user-provided pool must return first, those not yet called do
  /// not matter. REQUIRES: no Stay. In a child of fork() it leaves the handles of the parent's
  /// threads allocated.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Starts workers until a run can have `threads` threads, up to most_threads() and to the number
  /// that the system provides. Returns the threads that such a run has, its caller included.
  /// Threads are never ended before the destructor. Runs that are in progress keep their workers.
  /// Thread-safe.
  int start(int threads);
  /// The most threads that a run can have now, the caller's included.
  int threads() const { return started_.load(std::memory_order_relaxed) + 1; }
  /// The most threads that a run can ever have, the caller's included.
  int most_threads() const { return most_; }
  /// Whether its workers exist in this process; false in a child of fork().
  bool has_workers() const { return process_ == process_number(); }
  /// Number of threads that wait without using a core; for tests.
  int asleep() const { return asleep_.load(); }
  /// Number of runs that wait for a slot; for tests.
  std::size_t waiting() const { return run_slots_.waiting(); }

  /// Makes the calling thread a participant of one run, until this is destroyed.
  class Stay;

 private:
  friend class Participant;
  friend class Growth;
  struct Slot;
  struct Guest;
  struct Ticket;

  void init(Participant& worker, int index);
  void add_worker(int index) PX_REQUIRES(start_mutex_);
  void work(Participant& self);
  void park(Participant& self);
  template <class Idle>
  bool leaves(Participant& self, Idle nothing_to_do);
  void call(Participant* guests);
  std::size_t used(std::size_t slot) const;
  std::size_t end() const;
  bool crowded(int asleep) const;
  bool has_work(const Participant& self, const void* team) const;
  bool help(Participant& self, const void* team);
  bool help_in(std::size_t slot, Participant& self, const void* team);
  void wake(const Participant& self, std::int64_t wanted);
  void wake_if_worth(Participant& self, std::int64_t wanted, double nanoseconds);
  void wake_all();
  void may_use_all_cpus(const Participant& worker);
  void wake_one(std::size_t parked, Participant*& guests) PX_REQUIRES(park_mutex_);
  template <class Idle>
  void park_while(Participant& self, Idle nothing_to_do,
                  std::optional<std::chrono::steady_clock::time_point> until = {});

  const std::uint64_t process_;
  const int most_;
  const int cpus_;
  RunSlots run_slots_;
  // The first slots hold branches, one per run; the next ones tiles of callers; the others tiles of
  // workers.
  std::vector<Slot> slots_;
  Mutex start_mutex_{LockOrder::kStarting};
  std::unique_ptr<std::vector<std::thread>> workers_ PX_GUARDED_BY(start_mutex_);
  const std::shared_ptr<ThreadPool> users_;
  std::unique_ptr<std::vector<std::shared_ptr<Guest>>> guests_ PX_GUARDED_BY(start_mutex_);
  std::atomic<int> started_{0};  // number of workers
  std::atomic<int> asleep_{0};   // size of parked_
  std::atomic<bool> stop_{false};
  std::atomic<int> runs_{0};
  MissedWork missed_;  // kept from run to run
  Mutex park_mutex_;
  Condition unparked_;  // for threads that sleep until a given time
  std::vector<Participant*> parked_ PX_GUARDED_BY(park_mutex_);
  // One for each worker, in their order; none for guests. A woken thread should not share the CPU
  // of the one that wakes it.
  std::vector<ThreadAffinity> affinities_ PX_GUARDED_BY(park_mutex_);
};

/// A thread that takes part in runs. Used by that thread only.
class Participant {
 public:
  /// The index of the thread in its run, unique there: 0 for the caller, less than the width of the
  /// run for workers. Indexes RunBuffers::threads and scratch. A worker's changes from run to run.
  int index() const { return range_.index(worker_); }

  /// Runs all indices of `work` in [0, count) on this thread and on idle ones; blocks until all are
  /// done. Tiles may be offered inside branches, not the other way round. `nanoseconds`: predicted
  /// time of all indices together on one thread. Runs everything on this thread, in ascending
  /// order, if there are less than two indices, the work is shorter than 1 us, or the run has one
  /// thread. The order is unspecified otherwise.
  void share(WorkLevel level, std::int64_t count, SharedWork& work, double nanoseconds = kLong);

  /// Does the same for branches that become ready while others run. The indices below `ready` are
  /// ready at first. Blocks until `work` is finished. `nanoseconds`: predicted time of the first
  /// `ready` indices. At most one such work per run at a time.
  void share_growing(std::int64_t ready, GrowingWork& work, double nanoseconds = kLong);
  /// Adds `count` ready indices to the work, called inside its run(); they need `nanoseconds`
  /// together. Sleepers are woken once the work that they missed exceeds 20 us.
  void grow(std::int64_t count, double nanoseconds = kLong);
  /// Wakes the thread in share_growing(); called by the thread that finishes the work. Call it
  /// after finished() has become true, inside run().
  void finish();

 private:
  friend class WorkerPool;
  static constexpr std::size_t kNoSlot = ~std::size_t{0};

  WorkerPool* pool_ = nullptr;
  const void* team_ = nullptr;  // the run that this thread currently works for
  WorkerRange range_;           // the workers of that run
  int worker_ = 0;              // number of this worker; 0: a caller
  std::size_t branch_slot_ = kNoSlot;
  std::size_t tile_slot_ = kNoSlot;
  double missed_ns_ = 0;                 // work offered since sleepers were last woken
  std::atomic<int> parked_{0};           // 1 until another thread wakes this one
  WorkerPool::Guest* guest_ = nullptr;   // the guest that this belongs to; null: a thread
  Participant* next_called_ = nullptr;   // next in the list of guests that a thread wakes
  WorkerPool::Slot* growing_ = nullptr;  // the slot of the branch that this thread runs
};

/// Adds to GrowingWork from threads outside the pool. Valid until finished() has returned true.
/// Thread-safe. A default-constructed one must not be used. Plain value; copies add to the same
/// work.
class Growth {
 public:
  Growth() = default;
  /// Adds indices as Participant::grow() does, and wakes all sleeping threads: the thread that
  /// offers the work may be the only one that can do it. `count` may be 0, to wake the thread that
  /// checks finished(). Called by threads of devices.
  void add(std::int64_t count) const;

 private:
  friend class Participant;
  Growth(WorkerPool& pool, WorkerPool::Slot& slot) : pool_(&pool), slot_(&slot) {}
  WorkerPool* pool_ = nullptr;
  WorkerPool::Slot* slot_ = nullptr;
};

/// The calling thread's part in one run. The pool must outlive it and have its workers in this
/// process.
class WorkerPool::Stay {
 public:
  /// Enters a run of at most `width` threads. If the pool has workers for it but no free slot, it
  /// blocks until there is one, up to `deadline`; see entered().
  Stay(WorkerPool& pool, int width, const Deadline& deadline);
  /// Enters without blocking: if no slot is free, the thread works alone.
  Stay(WorkerPool& pool, int width);
  ~Stay();
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;
  /// Valid while this lives; only the thread that entered uses it.
  Participant& participant() { return participant_; }
  /// Whether the thread has entered. False if the deadline passed first: nothing may run then.
  bool entered() const { return entered_; }

 private:
  void enter();

  WorkerPool& pool_;
  RunSlots::Slot run_slot_;
  bool entered_ = false;
  Participant participant_;
};

}  // namespace parallax
