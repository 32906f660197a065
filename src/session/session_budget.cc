#include "session/session_budget.h"

#include <utility>

#include "session/run_admission.h"

namespace parallax {

RunBudget SessionBudget::now() const {
  switch (budget_.kind) {
    case MemoryBudget::Kind::kNone:
      return {};
    case MemoryBudget::Kind::kBytes:
      return {budget_.bytes, true};
    case MemoryBudget::Kind::kAuto:
      break;
  }
  return auto_budget(probe_.read(), account_->memory.held_bytes());
}

Status SessionBudget::fix(std::int64_t bytes) const {
  return account_->memory.fix(bytes, less(now(), account_->spare_plan_bytes()).bytes);
}

DeviceBudget SessionBudget::for_devices(const std::shared_ptr<SessionBudget>& budget) {
  DeviceBudget result = for_probes(budget);
  result.take = [budget](std::int64_t bytes) -> Status {
    while (true) {
      Status fixed = budget->fix(bytes);
      const bool full = !fixed && fixed.error().code == ErrorCode::kBudgetExceeded;
      // Plans count in the budget too, and so does the memory of their regions.
      if (!full || !budget->account_->forget_oldest_regions()) return fixed;
    }
  };
  return result;
}

DeviceBudget SessionBudget::for_probes(const std::shared_ptr<SessionBudget>& budget) {
  return {[budget](std::int64_t bytes) { return budget->fix(bytes); },
          [account = budget->account_](std::int64_t bytes) { account->memory.unfix(bytes); }};
}

}  // namespace parallax
