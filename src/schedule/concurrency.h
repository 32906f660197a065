// Why a branch of a plan runs with no other, although refinement would run it beside others: what
// reports say in words. Pure function. Internal to schedule/ but for the types.
#pragma once

#include <cstdint>
#include <optional>

#include "branch/branch.h"
#include "memory/memory.h"

namespace parallax {

enum class Alone : std::uint8_t {
  kNot,        ///< it shares its step
  kRefined,    ///< refinement groups it with none
  kScheduler,  ///< branches were asked to run one after the other
  kThreads,    ///< its group was cut, because it has too many branches for the threads
  kBudget,     ///< its whole group at once would not fit the budget
  kPlacement,  ///< its group alone would fit, but not beside what the other layers keep alive
  kBytes,      ///< its group at once would take more bytes than the time it saves is worth
};
struct Concurrency {
  Alone why = Alone::kNot;
  std::int64_t group_bytes = 0;  ///< live while its whole group runs at once, in the arena
};

/// What the schedule was made under.
struct ConcurrencyLimits {
  bool parallel = true;
  std::optional<std::int64_t> budget;  ///< of the arena
  std::int64_t worth = kTooManyBytes;  ///< what the arena may grow to for the sake of time
};

/// `groups`: steps by layer before bytes were looked at; `chosen`: those of the plan; both hold
/// each branch once. `budget`: of the arena. Close to O(V+E).
IdVector<BranchId, Concurrency> explain_concurrency(const std::vector<LayerGroups>& groups,
                                                    const Steps& layered, const Steps& chosen,
                                                    const MemoryProblem& problem,
                                                    const ConcurrencyLimits& limits);

}  // namespace parallax
