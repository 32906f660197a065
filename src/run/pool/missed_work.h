// Work that sleeping threads missed in a run, kept for the next one.
//
// Thread-safe. Only time depends on it, never results.
#pragma once

#include <atomic>
#include <chrono>

namespace parallax {

/// The work that the run before missed. A program that takes less than waking a thread costs is
/// run again and again by many: its thread is worth waking if the next run comes while it spins.
class MissedWork {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Keeps `nanoseconds`, greater than 0, of a run that ends at `now`, in place of what was kept.
  void keep(double nanoseconds, Time now) {
    since_.store(now, std::memory_order_relaxed);
    nanoseconds_.store(nanoseconds);
  }
  /// Whether take() may return more than 0.
  bool any() const { return nanoseconds_.load(std::memory_order_relaxed) > 0; }
  /// Returns the nanoseconds that were kept, once; 0 if that was more than `longest` before `now`.
  double take(Time now, std::chrono::microseconds longest) {
    const double kept = nanoseconds_.exchange(0);
    return now - since_.load(std::memory_order_relaxed) <= longest ? kept : 0;
  }

 private:
  std::atomic<double> nanoseconds_{0};
  std::atomic<Time> since_{};
};

}  // namespace parallax
