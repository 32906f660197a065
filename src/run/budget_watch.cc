#include "run/budget_watch.h"

#include <exception>

namespace parallax {

bool BudgetWatch::at_once() {
  const auto now = Clock::now();
  auto due = next_.load(std::memory_order_relaxed);
  const auto then = (now + max_age_).time_since_epoch().count();
  if (now.time_since_epoch().count() < due ||
      !next_.compare_exchange_strong(due, then, std::memory_order_relaxed))
    return at_once_.load(std::memory_order_relaxed);
  bool at_once = false;
  try {
    const RunBudget budget = read_();
    // All tasks of the system wait for memory: free idle blocks.
    if (!budget.at_once) lease_.trim();
    at_once = (!budget.bytes || lease_.set_limit(*budget.bytes)) && budget.at_once;
  } catch (const std::exception&) {
    // No memory even for a reading: run one branch after the other.
  }
  at_once_.store(at_once, std::memory_order_relaxed);
  return at_once;
}

}  // namespace parallax
