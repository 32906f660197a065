#include "bind/branch_order.h"

#include <algorithm>

namespace parallax {
namespace {

void turn_round(const IdVector<BranchId, std::vector<BranchId>>& waits, BranchOrder& order) {
  order.first_waiting = IdVector<BranchId, std::int64_t>(waits.size(), 0);
  std::int64_t edges = 0;
  for (const BranchId branch : waits.ids())
    for (const BranchId other : waits[branch]) ++order.first_waiting[other];
  for (std::int64_t& first : order.first_waiting) {
    edges += first;
    first = edges - first;
  }
  order.past_waiting = order.first_waiting;
  order.all_waiting.resize(static_cast<std::size_t>(edges));
  for (const BranchId branch : waits.ids())
    for (const BranchId other : waits[branch])
      order.all_waiting[static_cast<std::size_t>(order.past_waiting[other]++)] = branch;
}

/// Returns every branch after those that it waits for; fewer branches if there is a cycle.
std::vector<BranchId> sort_topologically(BranchOrder& order) {
  std::vector<BranchId> sorted = order.ready;
  IdVector<BranchId, std::int32_t> left = order.waits;
  for (std::size_t next = 0; next < sorted.size(); ++next) {
    // Branches that are sorted and not passed yet could run concurrently with `next`.
    if (next + 1 < sorted.size()) order.concurrent = true;
    for (const BranchId branch : order.waiting(sorted[next]))
      if (--left[branch] == 0) sorted.push_back(branch);
  }
  return sorted;
}

}  // namespace

Result<BranchOrder> order_branches(const IdVector<BranchId, std::vector<BranchId>>& waits,
                                   const IdVector<BranchId, double>& work,
                                   const IdVector<BranchId, RegionId>& region) {
  BranchOrder order;
  turn_round(waits, order);
  for (const BranchId branch : waits.ids()) {
    order.waits.push_back(static_cast<std::int32_t>(waits[branch].size()));
    if (waits[branch].empty()) order.ready.push_back(branch);
  }
  const std::vector<BranchId> sorted = sort_topologically(order);
  if (sorted.size() != waits.size()) {
    return tl::unexpected(
        Error{Stage::kSchedule, ErrorCode::kInternal, {}, "branches wait for each other"});
  }
  IdVector<BranchId, double> remaining = work;
  for (auto branch = sorted.rbegin(); branch != sorted.rend(); ++branch) {
    double longest = 0;
    for (const BranchId next : order.waiting(*branch)) longest = std::max(longest, remaining[next]);
    remaining[*branch] += longest;
  }
  order.by_rank = sorted;
  std::stable_sort(order.by_rank.begin(), order.by_rank.end(), [&](BranchId a, BranchId b) {
    const bool begun = region.contains(a) && region[a].valid();
    const bool other = region.contains(b) && region[b].valid();
    return begun != other ? begun : remaining[a] > remaining[b];
  });
  order.rank.resize(waits.size());
  std::int32_t rank = 0;
  for (const BranchId branch : order.by_rank) order.rank[branch] = rank++;
  return order;
}

}  // namespace parallax
