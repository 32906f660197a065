#include "schedule/concurrency.h"

namespace parallax {
namespace {

Alone why_alone(const Concurrency& branch, std::size_t step_size, const ConcurrencyLimits& limits) {
  if (!limits.parallel) return Alone::kScheduler;
  if (step_size < 2) return Alone::kThreads;
  if (limits.budget && branch.group_bytes > *limits.budget) return Alone::kBudget;
  return !limits.budget || limits.worth < *limits.budget ? Alone::kBytes : Alone::kPlacement;
}

}  // namespace

IdVector<BranchId, Concurrency> explain_concurrency(const std::vector<LayerGroups>& groups,
                                                    const Steps& layered, const Steps& chosen,
                                                    const MemoryProblem& problem,
                                                    const ConcurrencyLimits& limits) {
  const std::size_t branches = problem.branch_length.size();
  IdVector<BranchId, Concurrency> result(branches);
  IdVector<BranchId, bool> grouped(branches, false);
  for (const LayerGroups& layer : groups)
    for (const auto& group : layer.parallel)
      for (const BranchId branch : group) grouped[branch] = true;
  IdVector<BranchId, std::size_t> step_size(branches, 0);
  const std::vector<std::int64_t> peaks = step_peaks(problem, layered);
  for (std::size_t i = 0; i < layered.size(); ++i) {
    for (const BranchId branch : layered[i]) {
      step_size[branch] = layered[i].size();
      result[branch].group_bytes = peaks[i];
    }
  }
  for (const auto& step : chosen) {
    if (step.size() > 1) continue;
    for (const BranchId branch : step) {
      result[branch].why =
          grouped[branch] ? why_alone(result[branch], step_size[branch], limits) : Alone::kRefined;
    }
  }
  return result;
}

}  // namespace parallax
