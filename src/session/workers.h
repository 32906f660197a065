// The threads of a runtime, in its own process and in children of fork(). Internal to session/.
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

/// The workers of a runtime. A child of fork() has neither its parent's threads nor those of a
/// user-provided pool: it starts as many of its own when it first needs them. Thread-safe.
class Workers {
 public:
  /// Starts no thread yet. `threads`: the most threads of a run, its caller's included, >= 1;
  /// `users`: a user-provided pool, or null. The CPUs are counted once, here.
  explicit Workers(int threads, std::shared_ptr<ThreadPool> users = nullptr)
      : cpus_(usable_cpus()), pool_(&pools_.emplace_back(threads, cpus_, 1, std::move(users))) {}

  /// The pool of this process. Valid as long as this object. Locks only in a child of fork() that
  /// has no pool yet.
  WorkerPool& pool() {
    WorkerPool* const pool = pool_.load();
    return pool->has_workers() ? *pool : own_pool();
  }
  /// The most threads of a run, its caller's included. The same in a child of fork() as in its
  /// parent.
  int most_threads() const { return pool_.load()->most_threads(); }
  /// Starts workers for runs of `threads` threads; as WorkerPool::start(). Returns the threads that
  /// a run can have now, which are fewer if the system provides no more.
  int start(int threads) { return pool().start(threads); }

  /// Returns a loop that runs its body on at most `width` threads, the caller's included. This
  /// object must outlive the result. The loop enters the pool like a run, without blocking: if all
  /// slots are in use, the caller runs every index. The body must not throw. PlanCache packs
  /// weights with it.
  ParallelFor on(int width) {
    return [this, width](std::int64_t count, const std::function<void(std::int64_t)>& body) {
      WorkerPool::Stay stay(pool(), width);
      EachIndex work(body);
      stay.participant().share(WorkLevel::kTiles, count, work);
    };
  }

 private:
  /// Adapts a function to SharedWork; keeps a reference to it.
  class EachIndex final : public SharedWork {
   public:
    explicit EachIndex(const std::function<void(std::int64_t)>& body) : body_(body) {}
    void run(std::int64_t index, Participant&) override { body_(index); }

   private:
    const std::function<void(std::int64_t)>& body_;
  };

  /// Returns the pool of this process, creating it in a child of fork(). It has as many threads as
  /// the parent's: plans have room for no more.
  WorkerPool& own_pool() {
    const MutexLock lock(mutex_);
    WorkerPool* pool = pool_.load();
    if (!pool->has_workers())
      pool_ = pool = &pools_.emplace_back(pool->most_threads(), cpus_, pool->threads());
    return *pool;
  }

  /// CPUs that the process could use when this was made.
  const int cpus_;
  Mutex mutex_{LockOrder::kWorkers};
  // All but the last belong to another process.
  std::list<WorkerPool> pools_ PX_GUARDED_BY(mutex_);
  std::atomic<WorkerPool*> pool_;  // the last
};

}  // namespace parallax
