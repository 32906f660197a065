// Admission of runs: chooses a plan that fits the current budget, and waits for its memory.
// Internal to session/.
//
// Thread-safe.
//
// A run calls one of the functions, and holds the result until it ends; RunsInProgress::Run must be
// older than that result. Functions block the calling thread: for other runs, for threads that plan
// the same binding, and while planning and packing. Delegates and the user's allocator
// are called with no locks held but turns.
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

/// A plan and the memory to run it, which is released with this. Move-only; must not outlive the
/// MemoryAccount.
struct AdmittedRun {
  std::shared_ptr<const Program> program;  ///< never null
  /// The block of the run. At least AdmittedRun::program's bytes; returned to the account when
  /// destroyed.
  RunMemory::Lease lease;
  /// As last read. It includes kept_by_plans.
  RunBudget budget;
  std::int64_t kept_by_plans = 0;  ///< bytes of the budget that other plans hold
  /// Whether its delegates take part. False if the budget has no room for the CPU as a fallback.
  bool delegates = true;
  /// Memory reserved for admit_again(). In bytes of the smallest plan; empty unless the admission
  /// has spares, there is a limit and the plan uses a device.
  RunMemory::Spare spare = {};
};

/// Returns the part of a budget that is left for runs next to the kept plans. In bytes; no limit
/// stays no limit. The result may be negative, which no run fits.
RunBudget less(RunBudget budget, std::int64_t kept_by_plans);

/// Admits the runs of one session.
class RunAdmission {
 public:
  /// `read` returns the current budget. Both references must outlive this object. `source`: as in
  /// RunMemory::Request. `spares`: under a limit, a run with a delegate also reserves the memory
  /// that it needs to start again after a delegate timeout. `read` may be called on any thread that
  /// admits a run; what it throws passes through, except during waits, where the last reading is
  /// kept.
  RunAdmission(PlanCache& plans, MemoryAccount& account, std::function<RunBudget()> read,
               std::shared_ptr<MemorySource> source = nullptr, bool spares = false)
      : plans_(plans),
        account_(account),
        read_(std::move(read)),
        source_(std::move(source)),
        spares_(spares) {}

  /// Plans `binding`, or finds its plan, packs its weights and waits for memory. After the wait it
  /// reads the budget again and replaces a plan that no longer fits. `deadline` interrupts waits:
  /// for memory, and for a thread that plans the same binding or packs weights. It does not
  /// interrupt planning or packing, because the next run needs both too. Errors: as compile() and
  /// lay_out(), kOutOfMemory, kLimitExceeded, kCancelled. kBudgetExceeded only if the smallest plan
  /// does not fit, after memory of devices was evicted and other runs that held it have ended. If
  /// all runs in progress wait for such memory, one fails instead of waiting for ever.
  Result<AdmittedRun> admit(const Binding& binding, const Deadline& deadline);
  /// Admits a run again after a delegate timeout, in the memory of `spare`: does not wait for the
  /// memory that the delegate still holds, and the CPU runs everything. As admit() if `spare` is
  /// empty. The result has `delegates` == false. `spare` is consumed, also on failure.
  Result<AdmittedRun> admit_again(const Binding& binding, const Deadline& deadline,
                                  RunMemory::Spare spare);
  /// Admits a run again that found no room for data-dependent tensors: uses the smallest plan and
  /// evicts other plans. `before` is the plan that failed, and `kept_before` its
  /// AdmittedRun::kept_by_plans. Errors: as admit(); kBudgetExceeded also if that leaves no more
  /// room than `before` had. Makes room by evicting all plans that may be evicted. The next runs of
  /// `binding` use the smallest plan, too (PlanCache::shrink()).
  Result<AdmittedRun> admit_smaller(const Binding& binding, const Deadline& deadline,
                                    const Program& before, std::int64_t kept_before);

 private:
  /// A plan to wait for.
  struct Wanted {
    std::shared_ptr<const Program> program;
    std::int64_t spare = 0;            ///< bytes to reserve for admit_again()
    RunMemory::Spare* from = nullptr;  ///< memory reserved before; null: none
  };
  /// Plans for the part of the budget that devices do not hold. If that is too small, evicts their
  /// memory: first regions of plans that were not used for long, then all but those of runs in
  /// progress, for which it waits. False: there is no room for the CPU as a fallback for delegates.
  Result<bool> choose(const Binding& binding, const RunBudget& now, const Deadline& deadline,
                      Wanted& wanted);
  /// Chooses within `room`, without eviction. With spares, the plan and the smallest plan must fit
  /// together; false if they do not.
  Result<bool> choose_within(const Binding& binding, const RunBudget& room,
                             const Deadline& deadline, Wanted& wanted);
  /// Blocks in RunMemory::acquire(), which reads the budget again while it waits; writes the last
  /// reading to `now`.
  Result<AdmittedRun> wait(const Wanted& wanted, RunBudget& now, const Deadline& deadline);

  PlanCache& plans_;
  MemoryAccount& account_;
  const std::function<RunBudget()> read_;
  const std::shared_ptr<MemorySource> source_;
  const bool spares_;
};

}  // namespace parallax
