// Mutexes that clang checks. PX_GUARDED_BY says which mutex a variable needs, PX_REQUIRES which one
// a function needs from its callers; scripts/check_tidy.py, a part of `make check`, refuses code
// that does not hold it. libstdc++ annotates no type of its own, so these wrap them; they compile
// to the same instructions. No other file of src/ names std::mutex. PX_ACQUIRED_BEFORE says of two
// mutexes of one class which comes first; base/lock_order.h has the order of all.
//
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
#define PX_GUARDED_BY(mutex) PX_THREAD_ATTRIBUTE(guarded_by(mutex))
#define PX_REQUIRES(...) PX_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define PX_ACQUIRE(...) PX_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define PX_RELEASE(...) PX_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define PX_ACQUIRED_BEFORE(...) PX_THREAD_ATTRIBUTE(acquired_before(__VA_ARGS__))

namespace parallax {

class PX_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  constexpr Mutex() = default;
  explicit constexpr Mutex(LockOrder order) : order_(order) {}

  void lock() PX_ACQUIRE() {
    assert(HeldLocks::mine().may_take(order_));
    mutex_.lock();
    note_locked();
  }
  void unlock() PX_RELEASE() {
    if constexpr (kLocksAreChecked) HeldLocks::mine().remove(this);
    mutex_.unlock();
  }
  /// May be called in any order: it does not wait.
  bool try_lock() PX_THREAD_ATTRIBUTE(try_acquire_capability(true)) {
    if (!mutex_.try_lock()) return false;
    note_locked();
    return true;
  }

 private:
  friend class Condition;
  void note_locked() noexcept {
    if constexpr (kLocksAreChecked) HeldLocks::mine().add(this, order_);
  }

  std::mutex mutex_;
  const LockOrder order_ = LockOrder::kInnermost;
};

/// Holds a mutex, M, while it lives.
template <class M = Mutex>
class PX_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(M& mutex) PX_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  /// The caller has locked it.
  MutexLock(M& mutex, std::adopt_lock_t) PX_REQUIRES(mutex) : mutex_(mutex) {}
  ~MutexLock() PX_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  M& mutex_;
};

/// Waits without the mutex, and holds it again when the wait is over.
class Condition {
 public:
  void wait(Mutex& mutex) PX_REQUIRES(mutex) {
    assert(HeldLocks::mine().may_wait_with(&mutex));
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    (void)lock.release();
  }
  /// False where `time` has come.
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point time) PX_REQUIRES(mutex) {
    assert(HeldLocks::mine().may_wait_with(&mutex));
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool in_time = condition_.wait_until(lock, time) == std::cv_status::no_timeout;
    (void)lock.release();
    return in_time;
  }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace parallax
