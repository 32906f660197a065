// Finds why a branch of a plan runs alone, for reports. Pure function. Internal to schedule/ except
// for the types.
#pragma once

#include <cstdint>
#include <optional>

#include "branch/branch.h"
#include "memory/memory.h"

namespace parallax {

/// The reason why a branch has its step for itself.
enum class Alone : std::uint8_t {
  kNot,        ///< it shares its step
  kRefined,    ///< refinement groups it with no other branch
  kScheduler,  ///< the options request one branch after the other
  kThreads,    ///< its group was split, because it has too many branches for the threads
  kBudget,     ///< its whole group would not fit the budget concurrently
  kPlacement,  ///< its group alone would fit, but not together with live tensors of other layers
  kBytes,      ///< its group would need more bytes concurrently than the saved time is worth
};
/// The reason for one branch.
struct Concurrency {
  Alone why = Alone::kNot;
  std::int64_t group_bytes = 0;  ///< live arena bytes while its whole group runs concurrently
};

/// The limits that the schedule had to keep.
struct ConcurrencyLimits {
  bool parallel = true;                ///< false: one branch after the other was requested
  std::optional<std::int64_t> budget;  ///< limit on the arena in bytes; nullopt: no limit
  std::int64_t worth = kTooManyBytes;  ///< bytes to which the arena may grow to save time
};

/// Returns the reason for each branch. `groups`: the groups of refinement, by layer; `layered`: the
/// steps before memory was considered; `chosen`: the steps of the plan. Both lists of steps hold
/// each branch once. Close to O(V+E).
IdVector<BranchId, Concurrency> explain_concurrency(const std::vector<LayerGroups>& groups,
                                                    const Steps& layered, const Steps& chosen,
                                                    const MemoryProblem& problem,
                                                    const ConcurrencyLimits& limits);

}  // namespace parallax
