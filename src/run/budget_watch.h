// Adjusts the memory budget while a run is in progress: reads free memory again once the last
// reading is old, and applies the new limit.
//
// Thread-safety: all participants of the run may call allows_parallel(), without locks other than
// turns. One of them reads; the others do not wait and use the last answer.
//
// Session::Impl::run_program() makes one for each run under an automatic budget.
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

  /// `lease` must outlive this object; `read` must be thread-safe. `parallel`: the answer of
  /// allows_parallel() until the next reading, from the reading at the start of the run. `read`
  /// returns bytes, and may throw a std::exception. The first reading is due `max_age` after
  /// construction.
  BudgetWatch(RunMemory::Lease& lease, std::function<RunBudget()> read, bool parallel,
              std::chrono::nanoseconds max_age = kMaxAge)
      : lease_(lease),
        read_(std::move(read)),
        max_age_(max_age),
        parallel_(parallel),
        next_((Clock::now() + max_age).time_since_epoch().count()) {}

  /// Returns whether a branch that is about to start may run concurrently with others. False
  /// - while every task of the system waits for memory (idle blocks are then freed),
  /// - if the last `read` threw,
  /// - while all runs of the account together hold more than the budget that was last read.
  /// A new reading also limits what the run may still allocate. Branches that have begun go on.
  /// Freeing blocks may call the user's allocator on this thread.
  bool allows_parallel();

 private:
  RunMemory::Lease& lease_;
  const std::function<RunBudget()> read_;
  const std::chrono::nanoseconds max_age_;
  std::atomic<bool> parallel_;
  std::atomic<Clock::rep> next_;  // when to read again
};

}  // namespace parallax
