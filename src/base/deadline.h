// What ends a run early: a time, or the caller who asks for it; and waits that it ends too.
//
// Thread-safety: a Deadline is a plain value, whose token several threads may ask; a WakeOnStop is
// one thread's.
#pragma once

#include <cassert>
#include <chrono>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/mutex.h"
#include "parallax/result.h"

namespace parallax {

/// Empty: the run may take any time.
struct Deadline {
  using Time = std::chrono::steady_clock::time_point;

  Deadline() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a time is a deadline
  Deadline(std::optional<Time> by, std::stop_token asked = {}) : time(by), stop(std::move(asked)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): the same
  Deadline(Time by) : time(by) {}

  std::optional<Time> time;
  std::stop_token stop;
};

/// The text is so short that a string needs no memory for it.
inline Error cancelled() { return {Stage::kExecute, ErrorCode::kCancelled, {}, "cancelled"}; }

/// Why a wait ended without what it waited for.
inline Error ended(const Deadline& deadline) {
  if (deadline.stop.stop_requested()) return cancelled();
  return {Stage::kExecute, ErrorCode::kLimitExceeded, {}, "the time limit of the run is over"};
}

/// Errors: kCancelled if the caller asked for the end; kLimitExceeded if the time is up.
inline Status check_deadline(const Deadline& deadline) {
  const bool over = deadline.time && std::chrono::steady_clock::now() >= *deadline.time;
  if (!over && !deadline.stop.stop_requested()) return {};
  return tl::unexpected(ended(deadline));
}

/// While it lives, a caller who asks for the end wakes those who wait_within() the deadline. It is
/// made and destroyed without the mutex.
class WakeOnStop {
 public:
  WakeOnStop(const Deadline& deadline, Mutex& mutex, Condition& condition)
      : callback_(deadline.stop, Wake{mutex, condition}) {}

 private:
  struct Wake {
    void operator()() const noexcept {
      const MutexLock lock(mutex);  // a thread that has read the token before waits by now
      condition.notify_all();
    }
    Mutex& mutex;
    Condition& condition;
  };
  std::stop_callback<Wake> callback_;  // without a stop source nothing
};

/// Waits without the mutex, and holds it again when the wait is over. False where the deadline has
/// come.
inline bool wait_within(const Deadline& deadline, Mutex& mutex, Condition& condition)
    PX_REQUIRES(mutex) {
  if (deadline.stop.stop_requested()) return false;
  if (deadline.time) return condition.wait_until(mutex, *deadline.time);
  condition.wait(mutex);
  return true;
}

/// A mutex that a thread may wait for until a deadline. Condition does not take it. It is no
/// timed_mutex of the standard, because the ThreadSanitizer of GCC 12 misses how that is locked.
class PX_THREAD_ATTRIBUTE(capability("mutex")) TimedMutex {
 public:
  TimedMutex() = default;
  explicit TimedMutex(LockOrder order) : order_(order) {}

  void unlock() PX_RELEASE() {
    if constexpr (kLocksAreChecked) HeldLocks::mine().remove(this);
    const MutexLock lock(mutex_);
    held_ = false;
    free_.notify_all();
  }
  /// False where the deadline has come first. A free mutex is taken however late it is.
  bool lock_within(const Deadline& deadline) PX_THREAD_ATTRIBUTE(try_acquire_capability(true)) {
    assert(HeldLocks::mine().may_take(order_));
    if (!wait_for(deadline)) return false;
    if constexpr (kLocksAreChecked) HeldLocks::mine().add(this, order_);
    return true;
  }

 private:
  bool wait_for(const Deadline& deadline) {
    const WakeOnStop wake(deadline, mutex_, free_);
    const MutexLock lock(mutex_);
    while (held_)
      if (!wait_within(deadline, mutex_, free_) && held_) return false;
    held_ = true;
    return true;
  }

  const LockOrder order_ = LockOrder::kInnermost;
  Mutex mutex_;
  Condition free_;
  bool held_ PX_GUARDED_BY(mutex_) = false;
};

}  // namespace parallax
