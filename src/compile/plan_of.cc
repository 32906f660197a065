#include <algorithm>
#include <limits>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "compile/compiled.h"

namespace parallax {
namespace {

/// Returns the time of each branch if it runs alone, with each node's tiles on all threads.
IdVector<BranchId, double> times_alone(const Compiled& compiled, int threads) {
  const BranchGraph& branches = compiled.context->branches;
  IdVector<BranchId, double> times;
  for (const BranchId branch : branches.branches.ids()) {
    double time = 0;
    for (const NodeId id : branches.branches[branch]) {
      const CompiledNode& node = compiled.nodes[id];
      const std::int64_t tiles = std::max<std::int64_t>(node.code.tiles, 1);
      const std::int64_t rounds = (tiles - 1) / threads + 1;
      time += predicted_work(node) * static_cast<double>(rounds) / static_cast<double>(tiles);
    }
    // A delegate's time is the same however many threads there are.
    times.push_back(branches.region[branch].valid() ? compiled.work[branch] : time);
  }
  return times;
}

}  // namespace

bool in_region(const Compiled& compiled, NodeId id) {
  const BranchGraph& branches = compiled.context->branches;
  return branches.region[branches.branch_of[id]].valid();
}

bool is_planned(const Compiled& compiled, BranchId region) {
  return std::ranges::all_of(compiled.context->branches.branches[region], [&](NodeId id) {
    return compiled.nodes[id].role == NodeRole::kDelegated;
  });
}

double predicted_ns(const CompiledNode& node) {
  if (node.role == NodeRole::kView) return 0;
  return node.role == NodeRole::kPlanned ? node.seconds * 1e9
                                         : std::numeric_limits<double>::infinity();
}

Result<Plan> plan_of(const Compiled& compiled, ScheduleOptions options) {
  options.scratch_per_thread = compiled.scratch_bytes;
  options.work = compiled.work;
  options.work_alone = times_alone(compiled, options.threads);
  PX_ASSIGN(Plan plan,
            make_plan(compiled.context->branches, compiled.groups, compiled.problem, options));
  // The heaviest branch of a step first: no thread starts it when the others are done.
  for (auto& step : plan.steps)
    std::stable_sort(step.begin(), step.end(),
                     [&](BranchId a, BranchId b) { return compiled.work[a] > compiled.work[b]; });
  return plan;
}

std::optional<std::int64_t> arena_bytes(const Plan& plan) {
  return checked_align(plan.offsets.bytes, kAlignment);
}

}  // namespace parallax
