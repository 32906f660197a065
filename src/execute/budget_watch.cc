#include "execute/budget_watch.h"

namespace parallax {

bool BudgetWatch::at_once() {
  const auto now = Clock::now();
  auto due = next_.load(std::memory_order_relaxed);
  const auto then = (now + max_age_).time_since_epoch().count();
  if (now.time_since_epoch().count() < due ||
      !next_.compare_exchange_strong(due, then, std::memory_order_relaxed))
    return at_once_.load(std::memory_order_relaxed);
  const RunBudget budget = read_();
  const bool fits = !budget.bytes || lease_.set_limit(*budget.bytes);
  at_once_.store(budget.at_once && fits, std::memory_order_relaxed);
  return budget.at_once && fits;
}

}  // namespace parallax
