// The threads of a session. Work is cut into independent indices (the tiles of a node, the branches
// of a step). An idle thread takes the next index. The thread that offers work can always finish it
// alone, so nothing waits for a worker to be free.
//
// Workers use no core while no run is in progress. During a run, and for a moment after it, a
// thread without work first spins for a few microseconds, because the next node is usually no
// further away, then yields its core, then parks. With more threads than CPUs it parks at once, and
// no more threads are woken than there are CPUs. The thread that offers work predicts its time:
// work shorter than a hand-over is not offered, and sleepers are woken once the work that they
// missed would have paid for waking them.
//
// Thread-safety: several threads may have a Stay at once and share the workers. A child that was
// forked has none of the workers: there a pool can only be destroyed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "base/fork.h"
#include "base/mutex.h"

namespace parallax {

class Participant;

/// Work whose indices run in any order, on several threads at once. Must not throw.
class SharedWork {
 public:
  virtual ~SharedWork() = default;
  virtual void run(std::int64_t index, Participant& self) = 0;
};

/// Work whose indices become ready one after the other, while others of them run.
class GrowingWork : public SharedWork {
 public:
  /// Whether nothing runs and nothing will become ready.
  virtual bool finished() const = 0;
};

/// Whether idle threads take an index of this work before or after tiles of others. A branch may
/// offer tiles; a tile offers nothing.
enum class WorkLevel : std::uint8_t { kBranches, kTiles };

/// The time of work of unknown length.
inline constexpr double kLong = 1e18;

class WorkerPool {
 public:
  /// `threads` counts the caller: threads - 1 workers are started, fewer where the system refuses
  /// more. `cpus`: those that the process may use.
  explicit WorkerPool(int threads, int cpus = usable_cpus());
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Threads that work in a run, the caller's included.
  int threads() const { return static_cast<int>(workers_->size()) + 1; }
  /// Whether its workers exist in this process, which a fork may have made.
  bool has_workers() const { return process_ == process_number(); }
  /// For tests: threads that wait without using a core.
  int asleep() const { return asleep_.load(); }

  /// Makes the calling thread a participant for one run; leaves when destroyed.
  class Stay;

 private:
  friend class Participant;
  struct Slot;

  void work(int index);
  std::size_t used(std::size_t slot) const;
  void count_callers() PX_REQUIRES(caller_mutex_);
  bool has_work(const void* team) const;
  bool help(Participant& self, const void* team);
  bool help_in(std::size_t slot, Participant& self, const void* team);
  void wake(std::int64_t wanted);
  void wake_if_worth(Participant& self, std::int64_t wanted, double nanoseconds);
  void wake_all();
  void wake_last() PX_REQUIRES(park_mutex_);
  template <class Condition>
  void park_while(Participant& self, Condition nothing_to_do);

  // The first slots hold branches, one per caller, the next ones tiles of callers, the rest tiles
  // of workers.
  std::vector<Slot> slots_;
  std::size_t branch_slots_ = 0;
  std::atomic<std::size_t> callers_{0};  // no caller has a slot from this one on
  std::unique_ptr<std::vector<std::thread>> workers_;
  const std::uint64_t process_;
  const int wanted_threads_;
  const int cpus_;
  std::atomic<int> asleep_{0};  // as many as parked_
  std::atomic<bool> stop_{false};
  std::atomic<int> runs_{0};
  Mutex park_mutex_;
  std::vector<Participant*> parked_ PX_GUARDED_BY(park_mutex_);
  Mutex caller_mutex_;
  std::vector<bool> caller_taken_ PX_GUARDED_BY(caller_mutex_);
};

/// A thread while it takes part in runs. Used by that thread only.
class Participant {
 public:
  /// 0 for a caller, 1 to threads() - 1 for workers: no two threads of one run share it.
  int index() const { return index_; }

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
  int index_ = 0;
  std::size_t branch_slot_ = kNoSlot;
  std::size_t tile_slot_ = kNoSlot;
  double missed_ns_ = 0;                 // work offered since sleepers were last woken
  std::atomic<int> parked_{0};           // 1 until another thread wakes this one
  WorkerPool::Slot* growing_ = nullptr;  // the slot of the branch that this thread runs
};

class WorkerPool::Stay {
 public:
  explicit Stay(WorkerPool& pool);
  ~Stay();
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;
  Participant& participant() { return participant_; }

 private:
  WorkerPool& pool_;
  Participant participant_;
};

}  // namespace parallax
