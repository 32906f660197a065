// Waiting of a thread that has nothing to do.
//
// Thread-safety: each object belongs to one thread. Only time depends on these classes, never
// results.
#pragma once

#include <chrono>
#include <thread>

namespace parallax {

/// Spins, then yields, until it is time to park.
class Idle {
 public:
  /// Starts again, after the thread has found work.
  void reset() { pauses_ = 0; }

  /// Waits a moment. Returns false once the thread has yielded for `longest` and should park.
  /// `longest` counts from the first yield, after about 200 pauses.
  bool spin(std::chrono::microseconds longest) {
    if (++pauses_ < kPausesBeforeYield) {
      pause();
      return true;
    }
    const auto now = std::chrono::steady_clock::now();
    if (pauses_ == kPausesBeforeYield) since_ = now;
    std::this_thread::yield();
    return now - since_ < longest;
  }

  /// Tells the CPU that the thread spins. Does nothing on CPUs without such an instruction.
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

 private:
  /// Pauses without a system call at first; after these the thread yields its core each time,
  /// because the thread with the next node, or another process, may need it.
  static constexpr int kPausesBeforeYield = 200;

  int pauses_ = 0;
  std::chrono::steady_clock::time_point since_;
};

/// The time that a thread with a core of its own stays awake for the next event: `longest` while
/// events come within it, half as long after each that does not.
class Patience {
 public:
  explicit Patience(std::chrono::microseconds longest) : longest_(longest), now_(longest) {}

  /// The current time.
  std::chrono::microseconds now() const { return now_; }
  /// Spins until `done()` is true or the time is up. Keeps the core: a thread that yields it to
  /// another process gets it back milliseconds later.
  template <class Done>
  /// `done` is called at least once, and must be cheap and not throw.
  void wait(Done done) const {
    const auto until = std::chrono::steady_clock::now() + now_;
    while (!done() && std::chrono::steady_clock::now() < until)
      for (int i = 0; i < 16; ++i) Idle::pause();
  }
  /// Records that the last event came after `gap`. One event that is in time restores the full
  /// time.
  void waited(std::chrono::nanoseconds gap) { now_ = gap <= longest_ ? longest_ : now_ / 2; }

 private:
  const std::chrono::microseconds longest_;
  std::chrono::microseconds now_;
};

}  // namespace parallax
