// Workers that run on threads of a user-provided pool. Internal to run/.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "run/pool/worker_pool.h"

namespace parallax {

/// A worker without a thread of its own.
struct WorkerPool::Guest : std::enable_shared_from_this<Guest> {
  explicit Guest(WorkerPool& host) : pool(&host) {}

  /// Works on the calling thread, one of the user-provided pool, until there is nothing to do.
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
  /// Blocks until no thread is inside run_on_this_thread(), and prevents later calls.
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
