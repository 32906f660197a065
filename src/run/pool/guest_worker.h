// Workers that threads of the user's act for. Internal to run/.
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

  /// By a thread of the user's.
  void visit() {
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
  /// No thread has come.
  void stay_away() {
    const MutexLock lock(mutex);
    if (pool != nullptr) pool->park(self);
  }
  /// Returns when no thread is inside, and none will be.
  void end() {
    const MutexLock lock(mutex);
    while (inside > 0) changed.wait(mutex);
    pool = nullptr;
  }

  Mutex mutex{LockOrder::kGuest};
  Condition changed;
  WorkerPool* pool PX_GUARDED_BY(mutex);
  int inside PX_GUARDED_BY(mutex) = 0;  // one more for a moment, when one goes and another comes
  Participant self;
};

/// What a task of the user's holds.
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
