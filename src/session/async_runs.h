// Threads on which runs go on that no caller waits for, in the order in which they were asked for.
// Internal to session/.
//
// Thread-safe. In a child of fork() it begins anew; what was waiting in the parent is not done
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/mutex.h"
#include "parallax/runtime.h"

namespace parallax {

class AsyncRuns {
 public:
  /// `pool` null: on threads of its own.
  explicit AsyncRuns(std::shared_ptr<ThreadPool> pool = nullptr);
  /// Waits until all jobs are done. Not from a job.
  ~AsyncRuns();
  AsyncRuns(const AsyncRuns&) = delete;
  AsyncRuns& operator=(const AsyncRuns&) = delete;

  /// Calls `job`, which must not throw, on one of at most `most` threads, which is at least 1; or
  /// in a task of the user's pool. Errors: kOutOfMemory if there is no thread; the job is dropped
  /// then.
  Status add(std::function<void()> job, std::size_t most);
  /// Ends the threads above `most`, which is at least 1, each after the job that it has.
  void keep_within(std::size_t most);

 private:
  struct Queue;

  Status submit(std::function<void()> job);

  const std::uint64_t first_process_;
  Mutex mutex_{LockOrder::kAsyncRuns};
  std::uint64_t process_ PX_GUARDED_BY(mutex_);
  std::unique_ptr<Queue> queue_ PX_GUARDED_BY(mutex_);
  const std::shared_ptr<ThreadPool> pool_;
};

/// Counts runs that go on, so that who owns what they use can wait for them. Thread-safe.
class PendingRuns {
 public:
  /// A run: it goes on until the last copy is gone.
  std::shared_ptr<void> begin() {
    {
      const MutexLock lock(state_->mutex);
      ++state_->count;
    }
    // Without memory for the result its deleter is called.
    return {state_.get(), [state = state_](void*) { state->end(); }};
  }
  /// Returns when none goes on.
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
