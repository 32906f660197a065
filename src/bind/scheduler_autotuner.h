// Finds the faster order of a program: dataflow, or sequential with all threads on each node. The
// first runs try both alternately; later ones use the faster.
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
  /// Timed runs of each order, of which the fastest counts. The very first run is not timed: caches
  /// are cold and pages are missing.
  static constexpr int kTimedRuns = 3;

  /// Returns the order for a run that starts now; dataflow for the first one.
  Order next() {
    const Choice choice = choice_.load(std::memory_order_relaxed);
    if (choice != Choice::kTrying)
      return choice == Choice::kDataflow ? Order::kDataflow : Order::kSequential;
    const MutexLock lock(mutex_);
    return runs_[1] <= runs_[0] ? Order::kDataflow : Order::kSequential;
  }

  /// Records the time of a successful run in `order`; ignored once the order is chosen.
  void record(Order order, std::int64_t nanoseconds) {
    if (choice_.load(std::memory_order_relaxed) != Choice::kTrying) return;
    const MutexLock lock(mutex_);
    if (std::exchange(cold_, false)) return;
    const auto i = static_cast<std::size_t>(order);
    best_[i] = std::min(best_[i], nanoseconds);
    ++runs_[i];
    if (runs_[0] < kTimedRuns || runs_[1] < kTimedRuns) return;
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
  std::array<std::int64_t, 2> best_ PX_GUARDED_BY(mutex_){kNever, kNever};
};

}  // namespace parallax
