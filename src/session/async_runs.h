// The queue of asynchronous runs and its threads; runs begin in order of arrival. Internal to
// session/.
//
// Thread-safe. A child of fork() starts with an empty queue; jobs that were waiting in the parent
// do not run there.
//
// Session::run_async() adds jobs; Runtime::Impl owns the queue and destroys it before its workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/mutex.h"
#include "parallax/runtime.h"

namespace parallax {

/// A first-in, first-out queue of jobs with threads that start on demand.
class AsyncRuns {
 public:
  /// Uses tasks of `pool`; if it is null, threads of its own. In a child of fork() always the
  /// latter. Starts no thread. With a user-provided pool, `most` and the order of arrival are up to
  /// that pool.
  explicit AsyncRuns(std::shared_ptr<ThreadPool> pool = nullptr);
  /// Waits until all jobs on its own threads are done. Must not be called by a job. In a process
  /// that is not the queue's, a child of fork(), it leaves the queue allocated: its threads can
  /// neither be joined nor detached there.
  ~AsyncRuns();
  AsyncRuns(const AsyncRuns&) = delete;
  AsyncRuns& operator=(const AsyncRuns&) = delete;

  /// Queues `job`, which must not throw, for one of at most `most` threads, at least 1; or submits
  /// it to the user-provided pool. Returns without waiting for it. Errors: kOutOfMemory if there is
  /// no thread, or the pool throws; the job is destroyed then, outside all locks. `most` also
  /// replaces the limit for jobs that wait. Starts a thread only if no idle one is left for the
  /// job. If no thread can be started but others exist, the job waits for them. REQUIRES: with a
  /// user-provided pool, the thread holds no locks but turns, because submit() may run the job.
  Status add(std::function<void()> job, std::size_t most);
  /// Ends the threads above `most`, at least 1, each after its current job. Does not wait for them.
  /// Has no effect in a child of fork() that has added no job. Runtime::Impl::start() calls it when
  /// there are more workers.
  void keep_within(std::size_t most);

 private:
  struct Queue;

  /// Passes the job to the user-provided pool. Called without locks: submit() may run it.
  Status submit(std::function<void()> job);

  const std::uint64_t first_process_;  ///< the process that has the pool's threads
  Mutex mutex_{LockOrder::kAsyncRuns};
  std::uint64_t process_ PX_GUARDED_BY(mutex_);  ///< the process that has the queue's threads
  std::unique_ptr<Queue> queue_ PX_GUARDED_BY(mutex_);
  const std::shared_ptr<ThreadPool> pool_;
};

/// Counts the runs in progress, so that the owner of the resources that they use can wait for them.
/// Thread-safe.
class PendingRuns {
 public:
  /// Counts a run until the last copy of the result is destroyed, which may be after this object.
  /// Throws std::bad_alloc; the run does not count then.
  std::shared_ptr<void> begin() {
    {
      const MutexLock lock(state_->mutex);
      ++state_->count;
    }
    // If there is no memory for the result, its deleter is called.
    return {state_.get(), [state = state_](void*) { state->end(); }};
  }
  /// Blocks until no run is in progress. Must not be called by a run that counts. Runs that begin
  /// meanwhile prolong it.
  void wait() {
    const MutexLock lock(state_->mutex);
    while (state_->count > 0) state_->changed.wait(state_->mutex);
  }

 private:
  struct State {
    void end() {
      const MutexLock lock(mutex);
      --count;
      changed.notify_all();
    }
    Mutex mutex;
    Condition changed;
    int count PX_GUARDED_BY(mutex) = 0;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace parallax
