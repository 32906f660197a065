// The memory budget of a run in progress: reads free memory again once the last reading is old, and
// applies the new limit.
//
// Thread-safety: at_once() may be called by all participants of the run; one of them reads, the
// others use the last reading.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include "base/machine/budget.h"
#include "run/run_memory.h"

namespace parallax {

/// Watches the budget of one run.
class BudgetWatch {
 public:
  using Clock = std::chrono::steady_clock;
  /// The age at which a reading is replaced. A reading needs about 80 us, less than 1 % of this.
  static constexpr std::chrono::nanoseconds kMaxAge = std::chrono::milliseconds(10);

  /// `lease` must outlive this object; `read` must be thread-safe. `at_once`: the first answer,
  /// from the reading at the start of the run.
  BudgetWatch(RunMemory::Lease& lease, std::function<RunBudget()> read, bool at_once,
              std::chrono::nanoseconds max_age = kMaxAge)
      : lease_(lease),
        read_(std::move(read)),
        max_age_(max_age),
        at_once_(at_once),
        next_((Clock::now() + max_age).time_since_epoch().count()) {}

  /// Whether a branch that is about to start may run concurrently with others. False while all
  /// tasks of the system wait for memory (idle blocks are freed then), if `read` throws, and while
  /// runs hold more than the new budget, which also limits their further allocations.
  bool at_once();

 private:
  RunMemory::Lease& lease_;
  const std::function<RunBudget()> read_;
  const std::chrono::nanoseconds max_age_;
  std::atomic<bool> at_once_;
  std::atomic<Clock::rep> next_;  // when to read again
};

}  // namespace parallax
