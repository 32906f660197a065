// The threads of a runtime, in its own process or in a child of that. Internal to session/.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <utility>

#include "base/machine/cpu.h"
#include "base/mutex.h"
#include "base/parallel_for.h"
#include "run/pool/worker_pool.h"

namespace parallax {

/// A child of fork() has none of its parent's threads, nor its pool's: it starts as many of its own
/// when it first needs them. Thread-safe.
class Workers {
 public:
  /// The most threads of a run, its caller's included. None is started yet.
  explicit Workers(int threads, std::shared_ptr<ThreadPool> users = nullptr)
      : cpus_(usable_cpus()), pool_(&pools_.emplace_back(threads, cpus_, 1, std::move(users))) {}

  WorkerPool& pool() {
    WorkerPool* const pool = pool_.load();
    return pool->has_workers() ? *pool : own_pool();
  }
  int most_threads() const { return pool_.load()->most_threads(); }
  /// As WorkerPool::start().
  int start(int threads) { return pool().start(threads); }

  /// Runs a body on at most `width` threads. This object must outlive the result.
  ParallelFor on(int width) {
    return [this, width](std::int64_t count, const std::function<void(std::int64_t)>& body) {
      WorkerPool::Stay stay(pool(), width);
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
    if (!pool->has_workers())
      pool_ = pool = &pools_.emplace_back(pool->most_threads(), cpus_, pool->threads());
    return *pool;
  }

  const int cpus_;
  Mutex mutex_{LockOrder::kWorkers};
  // All but the last are another process's.
  std::list<WorkerPool> pools_ PX_GUARDED_BY(mutex_);
  std::atomic<WorkerPool*> pool_;  // the last
};

}  // namespace parallax
