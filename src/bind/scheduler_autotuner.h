// Finds the faster order of a program: dataflow, or sequential with all threads on each node. The
// first runs try both in turn, two runs each; later ones use the faster.
//
// Thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/mutex.h"

namespace parallax {

/// Measures the runs of one program and chooses their order. A decision is final for the life of
/// the program.
class SchedulerAutotuner {
 public:
  enum class Order : std::uint8_t { kSequential, kDataflow };
  /// Fewest timed runs of each order, of which the fastest counts. The very first run is not timed:
  /// caches are cold and pages are missing.
  static constexpr int kTimedRuns = 4;
  /// Time of all of them, in nanoseconds, before orders whose fastest runs differ by less than a
  /// tenth are compared. A thread that sleeps may arrive some ten milliseconds late: until then
  /// both orders of a short program have the time of one thread.
  static constexpr std::int64_t kTrialOfAlike = 100'000'000;

  /// Returns the order for a run that starts now; dataflow for the first one.
  Order next() {
    const Choice choice = choice_.load(std::memory_order_relaxed);
    if (choice != Choice::kTrying)
      return choice == Choice::kDataflow ? Order::kDataflow : Order::kSequential;
    const MutexLock lock(mutex_);
    return (runs_[0] + runs_[1]) / 2 % 2 == 0 ? Order::kDataflow : Order::kSequential;
  }

  /// Records the time of a successful run in `order`; ignored once the order is chosen.
  void record(Order order, std::int64_t nanoseconds) {
    if (choice_.load(std::memory_order_relaxed) != Choice::kTrying) return;
    const MutexLock lock(mutex_);
    if (std::exchange(cold_, false)) return;
    const auto i = static_cast<std::size_t>(order);
    best_[i] = std::min(best_[i], nanoseconds);
    ++runs_[i];
    tried_ += std::min(nanoseconds, kTrialOfAlike);
    if (runs_[0] < kTimedRuns || runs_[1] < kTimedRuns) return;
    const auto [fastest, slowest] = std::minmax(best_[0], best_[1]);
    if (slowest - fastest < slowest / 10 && tried_ < kTrialOfAlike) return;
    choice_.store(best_[1] < best_[0] ? Choice::kDataflow : Choice::kSequential,
                  std::memory_order_relaxed);
  }

 private:
  enum class Choice : std::uint8_t { kTrying, kSequential, kDataflow };

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::atomic<Choice> choice_{Choice::kTrying};
  Mutex mutex_;
  bool cold_ PX_GUARDED_BY(mutex_) = true;
  std::array<int, 2> runs_ PX_GUARDED_BY(mutex_){};  // timed runs of each order
  std::int64_t tried_ PX_GUARDED_BY(mutex_) = 0;     // nanoseconds of all timed runs
  std::array<std::int64_t, 2> best_ PX_GUARDED_BY(mutex_){kNever, kNever};
};

}  // namespace parallax
