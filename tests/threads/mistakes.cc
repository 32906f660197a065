// What clang's thread-safety analysis must find in code that uses base/mutex.h. No target compiles
// this file: scripts/check_threads.py compares line by line what scripts/check_tidy.py would say.
#include <chrono>

#include "base/mutex.h"

namespace parallax {

class Account {
 public:
  void add(int bytes) {
    const MutexLock lock(mutex_);
    held_ += bytes;
    grow();
  }
  void wait() {
    const MutexLock lock(mutex_);
    while (held_ > 0) changed_.wait(mutex_);
  }
  void unguarded_write() { held_ = 0; }         // expected-error {{writing variable 'held_'}}
  int unguarded_read() const { return held_; }  // expected-error {{reading variable 'held_'}}
  void after_unlock() {
    { const MutexLock lock(mutex_); }
    ++held_;  // expected-error {{writing variable 'held_'}}
  }
  void unguarded_call() { grow(); }                 // expected-error {{calling function 'grow'}}
  void unguarded_wait() { changed_.wait(mutex_); }  // expected-error {{calling function 'wait'}}
  void other_mutex() {
    const MutexLock lock(other_);
    ++held_;  // expected-error {{writing variable 'held_'}}
  }
  void kept_locked() { mutex_.lock(); }  // expected-error {{still held}}
  void locked_twice() {
    const MutexLock lock(mutex_);   //
    const MutexLock again(mutex_);  // expected-error {{already held}}
  }
  void maybe_locked() {
    (void)mutex_.try_lock();
    ++held_;  // expected-error {{writing variable 'held_'}}
  }

 private:
  void grow() PX_REQUIRES(mutex_) { ++held_; }

  mutable Mutex mutex_;
  Mutex other_;
  Condition changed_;
  int held_ PX_GUARDED_BY(mutex_) = 0;
};

}  // namespace parallax
