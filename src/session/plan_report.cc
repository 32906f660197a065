#include "session/plan_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/checked.h"
#include "session/body_report.h"

namespace parallax {
namespace {

/// Why `id` runs as it does, `step` being the branches that run at once with it.
std::string reason_of(const Program& program, BranchId id, int layer,
                      const std::vector<BranchId>& step) {
  const Compiled& compiled = *program.compiled;
  const BranchGraph& branches = compiled.context->branches;
  if (step.size() > 1) {
    std::vector<int> others;
    for (const BranchId other : step) {
      if (other != id) others.push_back(other.value);
    }
    return fmt::format("runs at once with {} {}", others.size() == 1 ? "branch" : "branches",
                       fmt::join(others, ", "));
  }
  const auto index = static_cast<std::size_t>(layer);
  if (branches.layers[index].size() == 1) return "alone: the only branch of its layer";
  if (const auto nodes = branches.branches[id].size(); nodes <= kMinBranchNodes) {
    return fmt::format("alone: {} {}; at least {} are worth running beside others", nodes,
                       nodes == 1 ? "node" : "nodes", kMinBranchNodes + 1);
  }
  const auto& groups = compiled.groups[index].parallel;
  const bool grouped = std::any_of(groups.begin(), groups.end(), [id](const auto& group) {
    return std::find(group.begin(), group.end(), id) != group.end();
  });
  if (grouped) {
    return fmt::format("alone: its {} bytes beside the others do not fit the threads or the budget",
                       program.plan.branch_peaks[id]);
  }
  return fmt::format("alone: no branch of its layer is within {} times its work", kBalance);
}

/// Scratch that one thread needs for the nodes of a branch, rounded to kAlignment as in the arena.
std::int64_t scratch_of(const Compiled& compiled, const std::vector<NodeId>& nodes) {
  std::int64_t most = 0;
  for (const NodeId node : nodes) {
    const auto& kernel = compiled.nodes[node].code.kernel;
    if (kernel != nullptr)
      most = std::max(most, checked_align(kernel->scratch_bytes(), kAlignment).value_or(0));
  }
  return most;
}

BranchReport report_of(const Program& program, BranchId id, int layer,
                       const std::vector<BranchId>& step) {
  const Compiled& compiled = *program.compiled;
  const auto& nodes = compiled.context->branches.branches[id];
  BranchReport report;
  report.id = id.value;
  report.layer = layer;
  report.nodes = static_cast<int>(nodes.size());
  for (const NodeId node : nodes)
    report.macs = checked_add(report.macs, compiled.nodes[node].macs).value_or(report.macs);
  report.peak_bytes = program.plan.branch_peaks[id] + scratch_of(compiled, nodes);
  report.parallel = step.size() > 1;
  report.reason = reason_of(program, id, layer, step);
  if (nodes.empty()) return report;
  report.first_node = compiled.graph().nodes[nodes.front()].name;
  report.last_node = compiled.graph().nodes[nodes.back()].name;
  return report;
}

/// What more threads would cost: the plans that they would get.
std::vector<ThreadBytes> thread_bytes(const Program& program) {
  std::vector<ThreadBytes> result;
  for (const int threads : {1, 2, 4, 8}) {
    const auto other = lay_out(program.compiled, {true, threads, std::nullopt});
    if (!other) continue;  // only where sums of bytes do not fit 63 bits
    const Program& plan = **other;
    result.push_back(
        {threads, plan.arena_bytes, plan.bytes - plan.arena_bytes, plan.plan.max_branches});
  }
  return result;
}

}  // namespace

PlanReport report_of(const Program& program) {
  const Compiled& compiled = *program.compiled;
  const BranchGraph& branches = compiled.context->branches;
  const Plan& plan = program.plan;
  PlanReport report;
  report.nodes = static_cast<int>(compiled.graph().nodes.size());
  report.branches = static_cast<int>(branches.branches.size());
  report.layers = static_cast<int>(branches.layers.size());
  report.parallel_layers = plan.parallel_layers;
  report.max_branches = plan.max_branches;
  report.arena_bytes = {plan.figures.naive, plan.figures.greedy, plan.figures.lower_bound,
                        plan.figures.paper, plan.figures.parallax};
  report.scratch_bytes = program.bytes - program.arena_bytes;
  report.packed_weight_bytes = compiled.context->packed.total_bytes();
  report.steps_per_layer.resize(branches.layers.size());
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    const int layer = plan.layer_of_step[step];
    ++report.steps_per_layer[static_cast<std::size_t>(layer)];
    for (const BranchId branch : plan.steps[step])
      report.branch_reports.push_back(report_of(program, branch, layer, plan.steps[step]));
  }
  report.thread_bytes = thread_bytes(program);
  report.body_reports = body_reports(compiled);
  return report;
}

}  // namespace parallax
