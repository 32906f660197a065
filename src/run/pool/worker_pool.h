// The threads of a runtime, which its sessions share. Work is cut into independent indices (the
// tiles of a node, the branches of a step). An idle thread takes the next index. The thread that
// offers work can always finish it alone, so nothing waits for a worker to be free.
//
// Workers use no core while no run is in progress. During a run, and for a moment after it, a
// thread without work first spins for a few microseconds, because the next node is usually no
// further away, then yields its core, then parks. With more threads than CPUs it parks at once, and
// no more threads are woken than there are CPUs. A worker also steps back while callers and workers
// are more threads than the pool was made for, once it has done the tile that it holds.
//
// The thread that offers work predicts its time: work shorter than a hand-over is not offered, and
// sleepers are woken once the work that they missed would have paid for waking them.
//
// In place of threads of its own a pool may have guests: workers that threads of the user's act
// for. What wakes a sleeping worker then gives the user's pool a task, which ends where a worker
// parks.
//
// Thread-safety: several threads may have a Stay at once and share the workers; those that find no
// place wait for one in the order in which they came. A child that was forked has none of the
// workers: there a pool can only be destroyed.
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

#include "base/fork.h"
#include "base/machine/cpu.h"
#include "base/mutex.h"
#include "parallax/runtime.h"
#include "run/pool/run_places.h"

namespace parallax {

class Participant;

/// Work whose indices run in any order, on several threads at once. Must not throw.
class SharedWork {
 public:
  virtual ~SharedWork() = default;
  virtual void run(std::int64_t index, Participant& self) = 0;
};

class Growth;

/// Work whose indices become ready one after the other, while others of them run.
class GrowingWork : public SharedWork {
 public:
  /// Called before any other: how threads that take no part may add to this work.
  virtual void begins(const Growth&) {}
  /// Whether nothing runs and nothing will become ready.
  virtual bool finished() const = 0;
  /// How long the thread that offers the work may sleep, and what it then does: once awake, for
  /// whatever reason, it calls waited().
  virtual std::optional<std::chrono::steady_clock::time_point> patience() const { return {}; }
  virtual void waited() {}
};

/// Whether idle threads take an index of this work before or after tiles of others. A branch may
/// offer tiles; a tile offers nothing.
enum class WorkLevel : std::uint8_t { kBranches, kTiles };

/// The time of work of unknown length.
inline constexpr double kLong = 1e18;

class WorkerPool {
 public:
  static constexpr int kAll = std::numeric_limits<int>::max();
  /// `threads` counts a caller: there are never more than threads - 1 workers. `cpus`: those that
  /// the process may use. `at_first`: as start() takes them. `users`: workers are guests of it.
  explicit WorkerPool(int threads, int cpus = usable_cpus(), int at_first = kAll,
                      std::shared_ptr<ThreadPool> users = nullptr);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Starts workers until a run can have `threads`, as far as the pool may have them and the system
  /// gives them. Returns how many threads such a run has, its caller included.
  int start(int threads);
  /// Threads that a run may have now, the caller's included, and the most that it ever may.
  int threads() const { return started_.load(std::memory_order_relaxed) + 1; }
  int most_threads() const { return most_; }
  /// Whether its workers exist in this process, which a fork may have made.
  bool has_workers() const { return process_ == process_number(); }
  /// For tests: threads that wait without using a core.
  int asleep() const { return asleep_.load(); }
  /// For tests: runs that wait for a place.
  std::size_t waiting() const { return places_.waiting(); }

  /// Makes the calling thread a participant of one run; leaves when destroyed.
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
  void wake_one(std::size_t parked, Participant*& guests) PX_REQUIRES(park_mutex_);
  template <class Idle>
  void park_while(Participant& self, Idle nothing_to_do,
                  std::optional<std::chrono::steady_clock::time_point> until = {});

  const std::uint64_t process_;
  const int most_;
  const int cpus_;
  RunPlaces places_;
  // The first slots hold branches, one per place, the next ones tiles of callers, the rest tiles of
  // workers.
  std::vector<Slot> slots_;
  Mutex start_mutex_{LockOrder::kStarting};
  std::unique_ptr<std::vector<std::thread>> workers_ PX_GUARDED_BY(start_mutex_);
  const std::shared_ptr<ThreadPool> users_;
  std::unique_ptr<std::vector<std::shared_ptr<Guest>>> guests_ PX_GUARDED_BY(start_mutex_);
  std::atomic<int> started_{0};  // workers
  std::atomic<int> asleep_{0};   // as many as parked_
  std::atomic<bool> stop_{false};
  std::atomic<int> runs_{0};
  Mutex park_mutex_;
  Condition unparked_;  // for those who sleep until some time
  std::vector<Participant*> parked_ PX_GUARDED_BY(park_mutex_);
};

/// A thread while it takes part in runs. Used by that thread only.
class Participant {
 public:
  /// 0 for the caller, less than the width of the run for its workers: no two threads of one run
  /// share it.
  int index() const { return row_.seat(worker_); }

  /// Runs all indices of `work` in [0, count) on this thread and on idle ones; returns when all are
  /// done. Tiles may be offered inside branches, not the other way round. `nanoseconds`: predicted
  /// time of all of it on one thread.
  void share(WorkLevel level, std::int64_t count, SharedWork& work, double nanoseconds = kLong);

  /// The same for branches that become ready while others run. The indices below `ready` may run at
  /// first; each call of grow() from inside run() adds `count`, which take `nanoseconds`. Returns
  /// when `work` is finished; the thread that finishes it calls finish().
  void share_growing(std::int64_t ready, GrowingWork& work, double nanoseconds = kLong);
  void grow(std::int64_t count, double nanoseconds = kLong);
  void finish();

 private:
  friend class WorkerPool;
  static constexpr std::size_t kNoSlot = ~std::size_t{0};

  WorkerPool* pool_ = nullptr;
  const void* team_ = nullptr;  // the run this thread works for at the moment
  WorkerRow row_;               // of that run
  int worker_ = 0;              // its number; 0: a caller
  std::size_t branch_slot_ = kNoSlot;
  std::size_t tile_slot_ = kNoSlot;
  double missed_ns_ = 0;                 // work offered since sleepers were last woken
  std::atomic<int> parked_{0};           // 1 until another thread wakes this one
  WorkerPool::Guest* guest_ = nullptr;   // that this is
  Participant* next_called_ = nullptr;   // of the guests that a thread wakes
  WorkerPool::Slot* growing_ = nullptr;  // the slot of the branch that this thread runs
};

/// GrowingWork as seen by threads that take no part in it. Valid until finished() has been true.
/// Thread-safe.
class Growth {
 public:
  Growth() = default;
  /// As Participant::grow(), and wakes all that sleep: the thread that offers the work may be the
  /// only one to do it.
  void add(std::int64_t count) const;

 private:
  friend class Participant;
  Growth(WorkerPool& pool, WorkerPool::Slot& slot) : pool_(&pool), slot_(&slot) {}
  WorkerPool* pool_ = nullptr;
  WorkerPool::Slot* slot_ = nullptr;
};

class WorkerPool::Stay {
 public:
  /// For a run of at most `width` threads. If the pool has workers for it and no place for another
  /// run, it waits for one until `deadline`; see entered().
  Stay(WorkerPool& pool, int width, const Deadline& deadline);
  /// The same for work that does not wait: without a place it gets no help.
  Stay(WorkerPool& pool, int width);
  ~Stay();
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;
  Participant& participant() { return participant_; }
  /// False where the deadline came first: nothing may run.
  bool entered() const { return entered_; }

 private:
  void enter();

  WorkerPool& pool_;
  RunPlaces::Place place_;
  bool entered_ = false;
  Participant participant_;
};

}  // namespace parallax
