// The order in which branches may run: Plan::waits reversed, so that a branch that ends finds those
// that waited for it, and a rank that decides which ready branch goes first. Made once per program.
// Pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"
#include "ir/dag.h"
#include "parallax/result.h"

namespace parallax {

struct BranchOrder {
  /// How many branches each one waits for.
  IdVector<BranchId, std::int32_t> waits;
  /// 0 goes first: the branch with the most work from its start to the end of the graph, along the
  /// longest path. Those of a device go before others. No two have the same.
  IdVector<BranchId, std::int32_t> rank;
  std::vector<BranchId> by_rank;
  std::vector<BranchId> ready;  ///< those that wait for none
  /// False if `waits` allow one order only: no two branches can ever run at once.
  bool concurrent = false;

  /// The branches that wait for `branch`.
  std::span<const BranchId> waiting(BranchId branch) const {
    const auto begin = static_cast<std::size_t>(first_waiting[branch]);
    return std::span(all_waiting)
        .subspan(begin, static_cast<std::size_t>(past_waiting[branch]) - begin);
  }
  IdVector<BranchId, std::int64_t> first_waiting, past_waiting;  ///< in all_waiting
  std::vector<BranchId> all_waiting;
};

/// `work`: of each branch, in any unit. `region`: valid for those that a device runs, which go
/// before all others: a thread only begins them, and the device works meanwhile; empty: there are
/// none. Errors: kInternal if the waits have a cycle. O(V+E), and a sort.
Result<BranchOrder> order_branches(const IdVector<BranchId, std::vector<BranchId>>& waits,
                                   const IdVector<BranchId, double>& work,
                                   const IdVector<BranchId, RegionId>& region = {});

}  // namespace parallax
