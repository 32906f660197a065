// A guard for writes to files in processes that limit the size of files. Internal to base/files and
// cache/.
// Thread-safety: belongs to the thread that creates it.
#pragma once

#include <signal.h>

#include <cerrno>
#include <ctime>

namespace parallax {

/// While it lives, a write beyond the process's limit on file sizes (RLIMIT_FSIZE) fails with EFBIG
/// in the calling thread and has no other effect. The system also sends SIGXFSZ, which would end
/// the process; the signal is blocked and consumed. Other threads and later signals are not
/// affected.
class WithoutFileSizeSignal {
 public:
  /// Blocks SIGXFSZ in this thread, unless it is already pending.
  WithoutFileSizeSignal() {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    // A signal that is already pending, because the user blocks it, is left to the user.
    ours_ = ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 0 &&
            ::pthread_sigmask(SIG_BLOCK, &signal_, &before_) == 0;
  }
  /// Consumes the signal if a write raised it, and restores the thread's signal mask.
  ~WithoutFileSizeSignal() {
    if (!ours_) return;
    constexpr timespec kAtOnce = {};
    while (::sigtimedwait(&signal_, nullptr, &kAtOnce) < 0 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutFileSizeSignal(const WithoutFileSizeSignal&) = delete;
  WithoutFileSizeSignal& operator=(const WithoutFileSizeSignal&) = delete;

 private:
  sigset_t signal_, before_;  ///< SIGXFSZ, and the mask to restore
  bool ours_;                 ///< whether this object blocked the signal
};

}  // namespace parallax
