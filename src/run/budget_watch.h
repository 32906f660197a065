// The memory budget of a run in progress: it reads free memory again once the last reading is old,
// and then follows the new one.
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

class BudgetWatch {
 public:
  using Clock = std::chrono::steady_clock;
  /// A reading takes some 80 us: less than 1 % of the time at this age.
  static constexpr std::chrono::nanoseconds kMaxAge = std::chrono::milliseconds(10);

  /// `read` must be thread-safe. `at_once`: the answer of the reading at the start.
  BudgetWatch(RunMemory::Lease& lease, std::function<RunBudget()> read, bool at_once,
              std::chrono::nanoseconds max_age = kMaxAge)
      : lease_(lease),
        read_(std::move(read)),
        max_age_(max_age),
        at_once_(at_once),
        next_((Clock::now() + max_age).time_since_epoch().count()) {}

  /// Whether a branch that is about to start may run beside others. False while all tasks wait for
  /// memory, in which case idle blocks are freed, if `read` throws, and while runs hold more than
  /// the new budget, which then also limits what they still allocate.
  bool at_once();

 private:
  RunMemory::Lease& lease_;
  const std::function<RunBudget()> read_;
  const std::chrono::nanoseconds max_age_;
  std::atomic<bool> at_once_;
  std::atomic<Clock::rep> next_;  // when to read again
};

}  // namespace parallax
