// Mutexes that clang checks. PX_GUARDED_BY says which mutex a variable needs, PX_REQUIRES which one
// a function needs from its callers; scripts/check_tidy.py, a part of `make check`, refuses code
// that does not hold it. libstdc++ annotates no type of its own, so these wrap them; they compile
// to the same instructions. No other file of src/ names std::mutex.
//
// Thread-safety: thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define PX_THREAD_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define PX_THREAD_ATTRIBUTE(...)
#endif
#define PX_GUARDED_BY(mutex) PX_THREAD_ATTRIBUTE(guarded_by(mutex))
#define PX_REQUIRES(...) PX_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define PX_ACQUIRE(...) PX_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define PX_RELEASE(...) PX_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))

namespace parallax {

class PX_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() PX_ACQUIRE() { mutex_.lock(); }
  void unlock() PX_RELEASE() { mutex_.unlock(); }
  bool try_lock() PX_THREAD_ATTRIBUTE(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
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
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    (void)lock.release();
  }
  /// False where `time` has come.
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point time) PX_REQUIRES(mutex) {
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
