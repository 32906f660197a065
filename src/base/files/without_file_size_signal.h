// For writers of files, whose process may have a limit for their size. Internal to cache/.
//
// Thread-safety: of the thread that makes it only.
#pragma once

#include <signal.h>

#include <cerrno>
#include <ctime>

namespace parallax {

/// While this lives, a write beyond the process's limit for files (RLIMIT_FSIZE) is an error of the
/// calling thread, EFBIG, and nothing else. The system sends it SIGXFSZ as well, which ends the
/// process; the signal is blocked and taken. Other threads and later signals are as they were.
class WithoutFileSizeSignal {
 public:
  WithoutFileSizeSignal() {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    // One that waits already, because the user blocks it, is the user's.
    ours_ = ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 0 &&
            ::pthread_sigmask(SIG_BLOCK, &signal_, &before_) == 0;
  }
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
  sigset_t signal_, before_;
  bool ours_;
};

}  // namespace parallax
