// Gives a run of a session a plan that fits the budget of the moment, and memory for it.
// Internal to session/.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/deadline.h"
#include "run/run_memory.h"
#include "schedule/budget.h"
#include "session/memory_account.h"
#include "session/plan_cache.h"

namespace parallax {

struct AdmittedRun {
  std::shared_ptr<const Program> program;
  RunMemory::Lease lease;
  RunBudget budget;                ///< as read last
  std::int64_t kept_by_plans = 0;  ///< bytes of the budget
};

/// The part of a budget that runs may take beside the kept plans.
RunBudget less(RunBudget budget, std::int64_t kept_by_plans);

class RunAdmission {
 public:
  /// `read` returns the current budget. Both references must outlive this. `source`: as in
  /// RunMemory::Request.
  RunAdmission(PlanCache& plans, MemoryAccount& account, std::function<RunBudget()> read,
               std::shared_ptr<MemorySource> source = nullptr)
      : plans_(plans), account_(account), read_(std::move(read)), source_(std::move(source)) {}

  /// Plans `binding`, or finds its plan, packs its weights and waits for memory. After the wait it
  /// reads the budget again and replaces a plan that no longer fits. `deadline` interrupts the wait
  /// for a thread that plans the same binding or packs weights, but not planning or packing,
  /// because the next run needs both too. Errors: as compile() and lay_out(), kOutOfMemory,
  /// kLimitExceeded.
  Result<AdmittedRun> admit(const Binding& binding, const Deadline& deadline);
  /// The same for a run that found no room for what it allocates while running: takes the smallest
  /// plan and forgets other plans. Errors: kBudgetExceeded also if that leaves no more room than
  /// `before` had.
  Result<AdmittedRun> admit_smaller(const Binding& binding, const Deadline& deadline,
                                    const Program& before, std::int64_t kept_before);

 private:
  Result<AdmittedRun> wait(std::shared_ptr<const Program> program, RunBudget& now,
                           const Deadline& deadline);

  PlanCache& plans_;
  MemoryAccount& account_;
  const std::function<RunBudget()> read_;
  const std::shared_ptr<MemorySource> source_;
};

}  // namespace parallax
