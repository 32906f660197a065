// Gives a run of a session a plan that fits the budget of the moment, and memory for it.
// Internal to session/.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/deadline.h"
#include "base/machine/budget.h"
#include "planning/plan_cache.h"
#include "run/run_memory.h"
#include "session/memory_account.h"

namespace parallax {

struct AdmittedRun {
  std::shared_ptr<const Program> program;
  RunMemory::Lease lease;
  RunBudget budget;                ///< as read last
  std::int64_t kept_by_plans = 0;  ///< bytes of the budget
  /// Whether its delegates take part. Not where the budget has no room for the CPU in their place.
  bool delegates = true;
  RunMemory::Spare spare = {};  ///< for admit_again()
};

/// The part of a budget that runs may take beside the kept plans.
RunBudget less(RunBudget budget, std::int64_t kept_by_plans);

class RunAdmission {
 public:
  /// `read` returns the current budget. Both references must outlive this. `source`: as in
  /// RunMemory::Request.
  /// `spares`: under a limit a run with a delegate also reserves what it needs to begin anew.
  RunAdmission(PlanCache& plans, MemoryAccount& account, std::function<RunBudget()> read,
               std::shared_ptr<MemorySource> source = nullptr, bool spares = false)
      : plans_(plans),
        account_(account),
        read_(std::move(read)),
        source_(std::move(source)),
        spares_(spares) {}

  /// Plans `binding`, or finds its plan, packs its weights and waits for memory. After the wait it
  /// reads the budget again and replaces a plan that no longer fits. `deadline` interrupts the wait
  /// for a thread that plans the same binding or packs weights, but not planning or packing,
  /// because the next run needs both too. Errors: as compile() and lay_out(), kOutOfMemory,
  /// kLimitExceeded.
  Result<AdmittedRun> admit(const Binding& binding, const Deadline& deadline);
  /// For a run whose delegate fell silent with its memory: does not wait for that. Under a budget
  /// the CPU runs all of it.
  Result<AdmittedRun> admit_again(const Binding& binding, const Deadline& deadline,
                                  RunMemory::Spare spare);
  /// The same for a run that found no room for what it allocates while running: takes the smallest
  /// plan and forgets other plans. Errors: kBudgetExceeded also if that leaves no more room than
  /// `before` had.
  Result<AdmittedRun> admit_smaller(const Binding& binding, const Deadline& deadline,
                                    const Program& before, std::int64_t kept_before);

 private:
  struct Wanted {
    std::shared_ptr<const Program> program;
    std::int64_t spare = 0;
    RunMemory::Spare* from = nullptr;
  };
  /// Plans for what the budget has beside what devices keep, and has them give it up if that is too
  /// little: first regions of plans used long ago, then all but those of runs in progress, for
  /// which it waits. False where there is no room for the CPU in place of its delegates.
  Result<bool> choose(const Binding& binding, const RunBudget& now, const Deadline& deadline,
                      Wanted& wanted);
  Result<bool> choose_within(const Binding& binding, const RunBudget& room,
                             const Deadline& deadline, Wanted& wanted);
  Result<AdmittedRun> wait(const Wanted& wanted, RunBudget& now, const Deadline& deadline);

  PlanCache& plans_;
  MemoryAccount& account_;
  const std::function<RunBudget()> read_;
  const std::shared_ptr<MemorySource> source_;
  const bool spares_;
};

}  // namespace parallax
