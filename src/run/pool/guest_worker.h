// Workers that run on threads of a user-provided pool. Internal to run/.
//
// Each wake-up of a parked guest submits one task with a Ticket. The user-provided pool calls or
// destroys the task on any thread, also after the WorkerPool is gone: the shared Guest makes that
// safe.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "run/pool/worker_pool.h"

namespace parallax {

/// A worker without a thread of its own. The destructor of the pool calls end(), after which tasks
/// return immediately.
struct WorkerPool::Guest : std::enable_shared_from_this<Guest> {
  /// The pool sets the number of `self` and parks it before it can be woken.
  explicit Guest(WorkerPool& host) : pool(&host) {}

  /// Works on the calling thread, one of the user-provided pool, until there is nothing to do.
  /// Returns when the worker parks or the pool stops. The mutex is not held during work.
  void run_on_this_thread() {
    WorkerPool* host = nullptr;
    {
      const MutexLock lock(mutex);
      if (pool == nullptr) return;
      ++inside;
      host = pool;
    }
    host->work(self);
    const MutexLock lock(mutex);
    --inside;
    changed.notify_all();
  }
  /// Parks the worker again, because the user-provided pool dropped its task.
  void stay_away() {
    const MutexLock lock(mutex);
    if (pool != nullptr) pool->park(self);
  }
  /// Blocks until no thread is inside run_on_this_thread(), and prevents later calls. Waits for
  /// tasks that are working; not for tasks that the user-provided pool has not called.
  void end() {
    const MutexLock lock(mutex);
    while (inside > 0) changed.wait(mutex);
    pool = nullptr;
  }

  Mutex mutex{LockOrder::kGuest};
  Condition changed;
  WorkerPool* pool PX_GUARDED_BY(mutex);
  int inside PX_GUARDED_BY(mutex) =
      0;  // threads in run_on_this_thread(); two while one replaces another
  Participant self;
};

/// The state of a task in a user-provided pool. Its destructor detects that the task was dropped.
/// The task sets `used` before it works.
struct WorkerPool::Ticket {
  explicit Ticket(std::shared_ptr<Guest> whose) : guest(std::move(whose)) {}
  ~Ticket() {
    if (!used) guest->stay_away();
  }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  const std::shared_ptr<Guest> guest;
  std::atomic<bool> used{false};
};

}  // namespace parallax
