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

/// GCC 12's address sanitizer takes none of its locks at fork(): a child hangs where a thread of
/// its parent was just getting or freeing memory.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kForkLeavesLocks = true;
#else
inline constexpr bool kForkLeavesLocks = false;
#endif

/// False where no child of a process with threads can start one: under the thread sanitizer, which
/// ends it, the address sanitizer, and in qemu-user, which aborts.
inline bool child_has_threads() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return false;
#else
  std::atomic<bool> over = false;
  std::thread beside([&] { over.wait(false); });
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
    "no threads in children here: a sanitizer, or qemu-user";

}  // namespace parallax
