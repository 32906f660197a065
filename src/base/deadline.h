// Deadlines and cancellation of runs, and waits that end with them.
// Thread-safety: a Deadline is a plain value whose stop token several threads may query; a
// WakeOnStop belongs to one thread.
#pragma once

#include <algorithm>
#include <cassert>
#include <chrono>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/mutex.h"
#include "parallax/result.h"

namespace parallax {

/// The time at which a run must end, and the token with which its caller cancels it. Without
/// either, the run may take any time. Copies share the stop state. Times are absolute, so that a
/// deadline can be handed from stage to stage.
struct Deadline {
  /// Monotonic, so that changes of the system's clock do not end runs.
  using Time = std::chrono::steady_clock::time_point;

  Deadline() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a time is a deadline
  Deadline(std::optional<Time> by, std::stop_token asked = {}) : time(by), stop(std::move(asked)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): the same
  Deadline(Time by) : time(by) {}

  /// The time limit; nullopt: no limit.
  std::optional<Time> time;
  /// Requested to stop if the caller cancels the run; a default-constructed token never is.
  std::stop_token stop;
};

/// Returns the time that a run may spend on what only makes later runs faster: `most`, or a tenth
/// of the time that it has left if that is less; at least 0. REQUIRES: most >= 0.
inline std::chrono::nanoseconds spare_time(const Deadline& deadline,
                                           std::chrono::nanoseconds most) {
  if (!deadline.time) return most;
  const std::chrono::nanoseconds left = *deadline.time - std::chrono::steady_clock::now();
  return std::clamp(left / 10, std::chrono::nanoseconds{0}, most);
}

/// Returns the error of a cancelled run. Its text is short enough for a string to need no
/// allocation.
inline Error cancelled() { return {Stage::kRun, ErrorCode::kCancelled, {}, "cancelled"}; }

/// Returns the reason why a wait ended without success: kCancelled if the caller cancelled,
/// otherwise kLimitExceeded. REQUIRES: the deadline has passed or a stop was requested.
inline Error ended(const Deadline& deadline) {
  if (deadline.stop.stop_requested()) return cancelled();
  return {Stage::kRun, ErrorCode::kLimitExceeded, {}, "the time limit of the run is over"};
}

/// Errors: kCancelled if the caller requested a stop; kLimitExceeded if the time is over. Costs a
/// reading of the clock if there is a time, and a load for the token.
inline Status check_deadline(const Deadline& deadline) {
  const bool over = deadline.time && std::chrono::steady_clock::now() >= *deadline.time;
  if (!over && !deadline.stop.stop_requested()) return {};
  return tl::unexpected(ended(deadline));
}

/// While it lives, a stop request of the caller wakes the threads that are in wait_within() with
/// this deadline. Construct and destroy it without holding the mutex, which its callback locks. The
/// mutex and the condition must outlive it. Without a stop source it costs nothing. The destructor
/// waits for a callback that is running on another thread. The thread that requests the stop runs
/// the callback, so it must not hold the mutex, nor a lock that comes after it in the lock order.
class WakeOnStop {
 public:
  /// Registers the callback. If a stop was already requested, it runs now, on this thread.
  WakeOnStop(const Deadline& deadline, Mutex& mutex, Condition& condition)
      : callback_(deadline.stop, Wake{mutex, condition}) {}

 private:
  struct Wake {
    void operator()() const noexcept {
      const MutexLock lock(mutex);  // a thread that has already checked the token is waiting by now
      condition.notify_all();
    }
    Mutex& mutex;
    Condition& condition;
  };
  std::stop_callback<Wake> callback_;  // does nothing if the token has no stop source
};

/// Releases the mutex while waiting for a notification or the deadline, and holds it again
/// afterwards. Returns false if the deadline has passed or a stop was requested. Wake-ups may be
/// spurious. True says only that something may have changed: callers test their condition, and
/// loop.
inline bool wait_within(const Deadline& deadline, Mutex& mutex, Condition& condition)
    PX_REQUIRES(mutex) {
  if (deadline.stop.stop_requested()) return false;
  if (deadline.time) return condition.wait_until(mutex, *deadline.time);
  condition.wait(mutex);
  return true;
}

/// A mutex that a thread can wait for until a deadline. Cannot be used with Condition. It does not
/// use std::timed_mutex because the ThreadSanitizer of GCC 12 misses how that is locked. Not
/// recursive: a thread that holds it would wait for itself until its deadline.
class PX_THREAD_ATTRIBUTE(capability("mutex")) TimedMutex {
 public:
  TimedMutex() = default;
  /// Sets the place in the lock order that assertions check.
  explicit TimedMutex(LockOrder order) : order_(order) {}

  /// Releases the mutex and wakes the threads that wait for it.
  void unlock() PX_RELEASE() {
    if constexpr (kLocksAreChecked) HeldLocks::mine().remove(this);
    const MutexLock lock(mutex_);
    held_ = false;
    free_.notify_all();
  }
  /// Returns false if the deadline passed before the mutex was free. A free mutex is locked even
  /// after the deadline. A stop request ends the wait too. Threads are served in no particular
  /// order.
  bool lock_within(const Deadline& deadline) PX_THREAD_ATTRIBUTE(try_acquire_capability(true)) {
    assert(HeldLocks::mine().may_take(order_));
    if (!wait_for(deadline)) return false;
    if constexpr (kLocksAreChecked) HeldLocks::mine().add(this, order_);
    return true;
  }

 private:
  /// Waits for the mutex without recording it as held. Returns false at the deadline.
  bool wait_for(const Deadline& deadline) {
    const WakeOnStop wake(deadline, mutex_, free_);
    const MutexLock lock(mutex_);
    while (held_)
      if (!wait_within(deadline, mutex_, free_) && held_) return false;
    held_ = true;
    return true;
  }

  const LockOrder order_ = LockOrder::kInnermost;
  Mutex mutex_;     ///< guards held_ only; never held while the caller works
  Condition free_;  ///< notified by unlock() and by stop requests
  bool held_ PX_GUARDED_BY(mutex_) = false;  ///< whether a thread holds the TimedMutex
};

}  // namespace parallax
