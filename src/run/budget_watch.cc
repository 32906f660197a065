#include "run/budget_watch.h"

#include <exception>

namespace parallax {

bool BudgetWatch::allows_parallel() {
  const auto now = Clock::now();
  auto due = next_.load(std::memory_order_relaxed);
  const auto then = (now + max_age_).time_since_epoch().count();
  if (now.time_since_epoch().count() < due ||
      !next_.compare_exchange_strong(due, then, std::memory_order_relaxed))
    return parallel_.load(std::memory_order_relaxed);
  bool parallel = false;
  try {
    const RunBudget budget = read_();
    // All tasks of the system wait for memory: free idle blocks.
    if (!budget.parallel) lease_.trim();
    parallel = (!budget.bytes || lease_.set_limit(*budget.bytes)) && budget.parallel;
  } catch (const std::exception&) {
    // No memory even for a reading: run one branch after the other.
  }
  parallel_.store(parallel, std::memory_order_relaxed);
  return parallel;
}

}  // namespace parallax
