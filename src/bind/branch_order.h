// The order in which branches may run: Plan::waits reversed, so that a branch that ends finds the
// branches that waited for it, and a rank that decides which ready branch starts first. Made once
// per program. Pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"
#include "ir/dag.h"
#include "parallax/result.h"

namespace parallax {

/// The order of the branches of one program.
struct BranchOrder {
  /// Number of branches that each one waits for.
  IdVector<BranchId, std::int32_t> waits;
  /// Priority, unique, 0 first: the branch with the most work from its start to the end of the
  /// graph, along the longest path. Branches of a device precede all others.
  IdVector<BranchId, std::int32_t> rank;
  std::vector<BranchId> by_rank;  ///< all branches in order of `rank`
  std::vector<BranchId> ready;    ///< branches that wait for no other
  /// False if `waits` allow one order only: no two branches can ever run concurrently.
  bool concurrent = false;

  /// Returns the branches that wait for `branch`; valid while this lives.
  std::span<const BranchId> waiting(BranchId branch) const {
    const auto begin = static_cast<std::size_t>(first_waiting[branch]);
    return std::span(all_waiting)
        .subspan(begin, static_cast<std::size_t>(past_waiting[branch]) - begin);
  }
  /// The range of each branch in all_waiting.
  IdVector<BranchId, std::int64_t> first_waiting, past_waiting;
  std::vector<BranchId> all_waiting;  ///< the branches that wait, for one branch after the other
};

/// Orders the branches. `waits`: the branches that each one waits for. `work`: the time of each
/// branch, in any unit. `region`: valid for branches that a device runs; these precede all others,
/// because a thread only starts them and the device works meanwhile; empty: there are no such
/// branches. Errors: kInternal if the waits have a cycle. O(V+E), and a sort. Equal work keeps the
/// order in which branches become ready.
Result<BranchOrder> order_branches(const IdVector<BranchId, std::vector<BranchId>>& waits,
                                   const IdVector<BranchId, double>& work,
                                   const IdVector<BranchId, RegionId>& region = {});

}  // namespace parallax
