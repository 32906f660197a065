// Mutexes that clang checks. PX_GUARDED_BY names the mutex that a variable needs, PX_REQUIRES the
// one that a function needs from its callers; scripts/check_tidy.py, a part of `make check`,
// rejects code that violates them. libstdc++ annotates none of its types, so these classes wrap
// them; they compile to the same instructions. No other file of src/ uses std::mutex.
// PX_ACQUIRED_BEFORE states which of two mutexes of one class comes first; base/lock_order.h
// defines the order of all.
// Thread-safety: thread-safe.
#pragma once

#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/lock_order.h"

#ifdef __clang__
#define PX_THREAD_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define PX_THREAD_ATTRIBUTE(...)
#endif
/// PX_GUARDED_BY(m): the variable is read and written with m held. PX_REQUIRES(m): the caller holds
/// m. PX_ACQUIRE, PX_RELEASE: the function locks or unlocks, without arguments the object itself.
#define PX_GUARDED_BY(mutex) PX_THREAD_ATTRIBUTE(guarded_by(mutex))
#define PX_REQUIRES(...) PX_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define PX_ACQUIRE(...) PX_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define PX_RELEASE(...) PX_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define PX_ACQUIRED_BEFORE(...) PX_THREAD_ATTRIBUTE(acquired_before(__VA_ARGS__))

namespace parallax {

/// A std::mutex, not recursive, whose place in the lock order is checked in builds with assertions.
class PX_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  constexpr Mutex() = default;
  /// `order`: the place among all locks; the default takes no other lock while held.
  explicit constexpr Mutex(LockOrder order) : order_(order) {}

  /// Blocks until the mutex is free. REQUIRES: the thread holds only locks that come earlier in the
  /// order.
  void lock() PX_ACQUIRE() {
    assert(HeldLocks::mine().may_take(order_));
    mutex_.lock();
    note_locked();
  }
  /// Wakes one of the waiting threads, if any. REQUIRES: this thread holds the mutex.
  void unlock() PX_RELEASE() {
    if constexpr (kLocksAreChecked) HeldLocks::mine().remove(this);
    mutex_.unlock();
  }
  /// Returns false if the mutex is locked. May be called in any order, because it does not wait.
  /// Never blocks.
  bool try_lock() PX_THREAD_ATTRIBUTE(try_acquire_capability(true)) {
    if (!mutex_.try_lock()) return false;
    note_locked();
    return true;
  }

 private:
  friend class Condition;
  /// Records the lock for the checks of its order, in builds that have them.
  void note_locked() noexcept {
    if constexpr (kLocksAreChecked) HeldLocks::mine().add(this, order_);
  }

  std::mutex mutex_;
  const LockOrder order_ = LockOrder::kInnermost;
};

/// Holds a mutex of type M while it lives.
template <class M = Mutex>
class PX_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  /// Locks the mutex, possibly blocking; the destructor unlocks it.
  explicit MutexLock(M& mutex) PX_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  /// Adopts a mutex that the caller has already locked. The destructor unlocks it.
  MutexLock(M& mutex, std::adopt_lock_t) PX_REQUIRES(mutex) : mutex_(mutex) {}
  ~MutexLock() PX_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  M& mutex_;
};

/// A condition variable for Mutex. Waits release the mutex and hold it again when they return; they
/// may return spuriously. REQUIRES for waits: the thread holds no other locks but turns. Callers
/// loop until their condition holds.
class Condition {
 public:
  /// Blocks until notified.
  void wait(Mutex& mutex) PX_REQUIRES(mutex) {
    assert(HeldLocks::mine().may_wait_with(&mutex));
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    (void)lock.release();
  }
  /// Blocks until notified. Returns false if `time` passed first. `time` is of the monotonic clock.
  /// False does not exclude that a notification came, too: check the condition itself.
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point time) PX_REQUIRES(mutex) {
    assert(HeldLocks::mine().may_wait_with(&mutex));
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool in_time = condition_.wait_until(lock, time) == std::cv_status::no_timeout;
    (void)lock.release();
    return in_time;
  }
  /// Wakes all waiting threads. The caller need not hold the mutex.
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace parallax
