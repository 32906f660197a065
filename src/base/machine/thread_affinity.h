// Keeps a thread off the CPU of the thread that wakes it.
//
// Linux may wake a thread on the CPU of the waking one though another is idle, and in a virtual
// machine it does so whenever the idle CPU's core has been given back to the host. Both threads
// then share a CPU until the kernel moves one of them, 2 to 13 ms later, instead of 0.02 to 0.1.
#pragma once

#include <pthread.h>
#include <sched.h>

namespace parallax {

/// The CPUs of one thread, which must live. Thread-compatible: concurrent calls must be serialised.
class ThreadAffinity {
 public:
  explicit ThreadAffinity(pthread_t thread) : thread_(thread) {}

  /// Excludes the calling thread's CPU from those that the thread may use, until restore(). Does
  /// nothing if that leaves it none, if the system refuses, or if one is excluded. Takes 2 us.
  void avoid_this_cpu();
  /// Ends the exclusion, unless someone else has changed the thread's CPUs since.
  void restore();

 private:
  const pthread_t thread_;
  bool avoids_ = false;
  cpu_set_t all_;   ///< without the exclusion
  cpu_set_t some_;  ///< with it
};

}  // namespace parallax
