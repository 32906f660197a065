// How a run of a session gets a plan that fits the budget of the moment, and memory for it.
// Internal to session/.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "execute/deadline.h"
#include "execute/run_memory.h"
#include "schedule/budget.h"
#include "session/memory_account.h"
#include "session/plan_cache.h"

namespace parallax {

struct AdmittedRun {
  std::shared_ptr<const Program> program;
  RunMemory::Lease lease;
  RunBudget budget;                ///< as it was read last
  std::int64_t kept_by_plans = 0;  ///< bytes of it
};

/// The part of a budget that runs may take beside the plans that are kept.
RunBudget less(RunBudget budget, std::int64_t kept_by_plans);

class RunAdmission {
 public:
  /// `read` gives the budget of now; both references must outlive this.
  RunAdmission(PlanCache& plans, MemoryAccount& account, std::function<RunBudget()> read)
      : plans_(plans), account_(account), read_(std::move(read)) {}

  /// Plans `binding`, or finds its plan, and waits for memory. What was free before the wait does
  /// not count: the budget is read again, and a plan that no longer fits is replaced. Planning is
  /// not cut short by `deadline`, because the next run needs the plan too. Errors: as compile() and
  /// lay_out(), kOutOfMemory, kLimitExceeded.
  Result<AdmittedRun> admit(const Binding& binding, const Deadline& deadline);
  /// The same for a run that found no room for what it allocates while running: with the smallest
  /// plan, other plans forgotten. Errors: kBudgetExceeded also where that leaves no more room than
  /// `before` had.
  Result<AdmittedRun> admit_smaller(const Binding& binding, const Deadline& deadline,
                                    const Program& before, std::int64_t kept_before);

 private:
  Result<AdmittedRun> wait(std::shared_ptr<const Program> program, RunBudget& now,
                           const Deadline& deadline);

  PlanCache& plans_;
  MemoryAccount& account_;
  const std::function<RunBudget()> read_;
};

}  // namespace parallax
