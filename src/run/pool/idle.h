// What a thread does while there is nothing to do.
//
// Thread-safety: of one thread.
#pragma once

#include <chrono>
#include <thread>

namespace parallax {

/// Looks again and again, and then sleeps.
class Idle {
 public:
  void reset() { pauses_ = 0; }

  /// Waits a moment; false where it is time to park.
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

  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

 private:
  /// The first of it without the system's help; then the thread offers its core to others each time
  /// it looks, because the thread with the next node may need it, or another process.
  static constexpr int kPausesBeforeYield = 200;

  int pauses_ = 0;
  std::chrono::steady_clock::time_point since_;
};

/// How long a thread that has a core of its own stays awake for what may come next: that long where
/// it came so soon of late, ever less where it did not.
class Patience {
 public:
  explicit Patience(std::chrono::microseconds longest) : longest_(longest), now_(longest) {}

  std::chrono::microseconds now() const { return now_; }
  /// Waits for `done()`; returns when it is true or the time is over. Keeps the core: who yields it
  /// to another process gets it back milliseconds later.
  template <class Done>
  void wait(Done done) const {
    const auto until = std::chrono::steady_clock::now() + now_;
    while (!done() && std::chrono::steady_clock::now() < until)
      for (int i = 0; i < 16; ++i) Idle::pause();
  }
  /// What came last came after `gap`.
  void waited(std::chrono::nanoseconds gap) { now_ = gap <= longest_ ? longest_ : now_ / 2; }

 private:
  const std::chrono::microseconds longest_;
  std::chrono::microseconds now_;
};

}  // namespace parallax
