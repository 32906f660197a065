// For tests of threads: how many this process has, and whether its children can have some.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <thread>

namespace parallax {

/// Threads of this process. Some that have ended may still be among them.
inline std::ptrdiff_t threads_now() {
#ifdef __SANITIZE_THREAD__
  // The sanitizer starts a thread of its own with the first of the program.
  static const bool begun = (std::thread([] {}).join(), true);
  (void)begun;
#endif
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

/// Seconds after which a child that hangs is ended.
constexpr unsigned kPatienceOfChildren = 120;

/// False where no child of a process with threads can start one: under the thread sanitizer, which
/// ends it, and in qemu-user, which aborts.
inline bool child_has_threads() {
#ifdef __SANITIZE_THREAD__
  return false;
#else
  std::atomic<bool> begun = false;
  std::atomic<bool> over = false;
  std::thread beside([&] {
    begun = true;
    begun.notify_one();
    over.wait(false);
  });
  // A thread that is being started holds locks of the address sanitizer, which a child would
  // inherit.
  begun.wait(false);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kPatienceOfChildren);
    std::thread([] {}).join();
    ::_exit(0);
  }
  int status = -1;
  const bool ended = ::waitpid(child, &status, 0) == child;
  over = true;
  over.notify_one();
  beside.join();
  return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
#endif
}

inline constexpr const char* kNoThreadsInChildren =
    "no threads in children here: the thread sanitizer, or qemu-user";

}  // namespace parallax
