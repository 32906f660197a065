// The threads of a session, in its own process or in a child of that. Internal to session/.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>

#include "base/mutex.h"
#include "execute/worker_pool.h"
#include "kernels/packed_weights.h"

namespace parallax {

/// A child of fork() has none of its parent's threads: it starts as many of its own when it first
/// needs them. Thread-safe.
class Workers {
 public:
  explicit Workers(int threads) : pool_(&pools_.emplace_back(threads)) {}

  WorkerPool& pool() {
    WorkerPool* const pool = pool_.load();
    return pool->has_workers() ? *pool : own_pool();
  }
  int threads() const { return pool_.load()->threads(); }

  /// Runs a body on all threads. This object must outlive the result.
  ParallelFor all() {
    return [this](std::int64_t count, const std::function<void(std::int64_t)>& body) {
      WorkerPool::Stay stay(pool());
      EachIndex work(body);
      stay.participant().share(WorkLevel::kTiles, count, work);
    };
  }

 private:
  class EachIndex final : public SharedWork {
   public:
    explicit EachIndex(const std::function<void(std::int64_t)>& body) : body_(body) {}
    void run(std::int64_t index, Participant&) override { body_(index); }

   private:
    const std::function<void(std::int64_t)>& body_;
  };

  /// Has as many threads as the pool before: plans have room for no more.
  WorkerPool& own_pool() {
    const MutexLock lock(mutex_);
    WorkerPool* pool = pool_.load();
    if (!pool->has_workers()) pool_ = pool = &pools_.emplace_back(pool->threads());
    return *pool;
  }

  Mutex mutex_;
  // All but the last are another process's.
  std::list<WorkerPool> pools_ PX_GUARDED_BY(mutex_);
  std::atomic<WorkerPool*> pool_;  // the last
};

}  // namespace parallax
