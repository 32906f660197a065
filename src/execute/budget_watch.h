// The memory budget of one run while it runs: free memory is read again when the last reading has
// become old, and what it says holds from then on.
//
// Thread-safety: at_once() may be called by all participants of the run; one of them reads, the
// others go by the reading before.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include "execute/run_memory.h"
#include "schedule/budget.h"

namespace parallax {

class BudgetWatch {
 public:
  using Clock = std::chrono::steady_clock;
  /// A reading takes some 80 us: less than 1 % of the time at this age.
  static constexpr std::chrono::nanoseconds kMaxAge = std::chrono::milliseconds(10);

  /// `read` must be thread-safe. `at_once`: what the reading at the start said.
  BudgetWatch(RunMemory::Lease& lease, std::function<RunBudget()> read, bool at_once,
              std::chrono::nanoseconds max_age = kMaxAge)
      : lease_(lease),
        read_(std::move(read)),
        max_age_(max_age),
        at_once_(at_once),
        next_((Clock::now() + max_age).time_since_epoch().count()) {}

  /// Called before a branch starts: whether it may run beside others. False while everything waits
  /// for memory, where `read` throws, and while runs hold more than the budget has become; then
  /// what they allocate from now on is limited by the new budget too.
  bool at_once();

 private:
  RunMemory::Lease& lease_;
  const std::function<RunBudget()> read_;
  const std::chrono::nanoseconds max_age_;
  std::atomic<bool> at_once_;
  std::atomic<Clock::rep> next_;  // when to read again
};

}  // namespace parallax
