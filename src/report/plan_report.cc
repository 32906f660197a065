#include "report/plan_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/checked.h"
#include "planning/delegated_bodies.h"
#include "report/body_report.h"
#include "report/branch_reason.h"
#include "report/kernel_report.h"
#include "report/structure.h"

namespace parallax {
namespace {

/// Returns the scratch that one thread needs for the nodes of a branch, rounded up to kAlignment as
/// in the arena.
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
                       const std::vector<BranchId>& step, Refinement refinement) {
  const Compiled& compiled = program.compiled();
  const auto& nodes = compiled.context->branches.branches[id];
  BranchReport report;
  report.id = id.value;
  report.layer = layer;
  report.nodes = static_cast<int>(nodes.size());
  for (const NodeId node : nodes)
    report.macs = checked_add(report.macs, compiled.nodes[node].macs).value_or(report.macs);
  report.peak_bytes = program.plan.branch_peaks[id] + scratch_of(compiled, nodes);
  report.parallel = step.size() > 1;
  report.reason = branch_reason(program, id, layer, step, refinement);
  report.predicted_ms = compiled.work[id] * 1e3;
  report.region = compiled.context->branches.region[id].value;
  if (nodes.empty()) return report;
  report.first_node = compiled.graph().nodes[nodes.front()].name;
  report.last_node = compiled.graph().nodes[nodes.back()].name;
  return report;
}

std::vector<LayerReport> layer_reports(const BranchGraph& branches, const PlanReport& report) {
  IdVector<BranchId, const BranchReport*> by_id(branches.branches.size(), nullptr);
  for (const BranchReport& branch : report.branch_reports) by_id[BranchId{branch.id}] = &branch;
  std::vector<LayerReport> layers;
  for (const auto& layer : branches.layers) {
    LayerReport& line = layers.emplace_back();
    line.id = static_cast<int>(layers.size()) - 1;
    std::vector<const BranchReport*> members;
    for (const BranchId branch : layer) {
      line.branches.push_back(branch.value);
      line.parallel += by_id[branch]->parallel ? 1 : 0;
      members.push_back(by_id[branch]);
    }
    line.reason = layer_reason(members);
  }
  return layers;
}

RegionReport report_of(const DelegatedPlan& plan, const Region& region, int id) {
  const RegionCost& cost = region.cost;
  RegionReport report;
  report.id = id;
  report.delegate = plan.delegates[static_cast<std::size_t>(region.delegate)];
  report.nodes = cost.nodes;
  report.macs = cost.macs;
  report.paper_flops = cost.paper_flops;
  report.boundary_bytes = cost.boundary_bytes;
  report.memory_bytes = cost.memory_bytes;
  report.delegate_ms = cost.delegate_seconds * 1e3;
  report.cpu_ms = cost.cpu_seconds * 1e3;
  report.reason = region.verdict.detail;
  report.body = plan.body;
  report.trips = plan.trips;
  for (const NodeId node : region.nodes)
    report.node_names.push_back(plan.body + plan.graph.nodes[node].name);
  return report;
}

/// Appends the regions of one graph of a plan: the offloaded ones, or those returned to the CPU.
void add_region_reports(const DelegatedPlan& plan, bool offloaded,
                        std::vector<RegionReport>& reports) {
  const auto& regions = offloaded ? plan.partition.regions : plan.partition.returned;
  for (const RegionId id : regions.ids())
    reports.push_back(report_of(plan, regions[id], offloaded ? plan.first + id.value : -1));
}

void add_cpu_nodes(const DelegatedPlan& plan, std::vector<CpuNodeReport>& reports) {
  const Graph& graph = plan.graph;
  for (const NodeId node : graph.nodes.ids()) {
    if (plan.reasons[node].empty()) continue;
    reports.push_back({plan.body + graph.nodes[node].name,
                       std::string(to_string(graph.nodes[node].op)), plan.reasons[node]});
  }
}

/// Returns the memory of the plans for other numbers of threads.
std::vector<ThreadBytes> thread_bytes(const Program& program) {
  std::vector<ThreadBytes> result;
  const auto in_order = lay_out(program.bound, {false, 1, std::nullopt});
  if (!in_order) return result;
  for (const int threads : {1, 2, 4, 8}) {
    const auto other = lay_out(program.bound, {true, threads, std::nullopt});
    if (!other) continue;  // only if sums of bytes exceed 63 bits
    const Program& plan = **other;
    const std::int64_t scratch = plan.bytes - plan.arena_bytes - plan.staged_bytes;
    result.push_back({threads, plan.arena_bytes, scratch, plan.plan.max_branches,
                      (*in_order)->arena_bytes + scratch + plan.staged_bytes});
  }
  return result;
}

}  // namespace

PlanReport report_of(const Program& program, Refinement refinement) {
  const Compiled& compiled = program.compiled();
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
  report.scratch_bytes = program.bytes - program.arena_bytes - program.staged_bytes;
  report.staged_bytes = program.staged_bytes;
  report.packed_weight_bytes = compiled.context->packed.total_bytes();
  report.steps_per_layer.resize(branches.layers.size());
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    const int layer = plan.layer_of_step[step];
    ++report.steps_per_layer[static_cast<std::size_t>(layer)];
    for (const BranchId branch : plan.steps[step]) {
      report.branch_reports.push_back(
          report_of(program, branch, layer, plan.steps[step], refinement));
    }
  }
  report.layer_reports = layer_reports(branches, report);
  report.structure = structure_of(compiled);
  report.thread_bytes = thread_bytes(program);
  report.body_reports = body_reports(compiled);
  report.kernel_reports = kernel_reports(compiled);
  return report;
}

PlanReport report_of(const DelegatedPlan& plan, Refinement refinement) {
  PlanReport report = report_of(*plan.program, refinement);
  report.delegate = fmt::format("{}", fmt::join(plan.delegates, ", "));
  report.co_execution = plan.co_execution;
  report.predicted_ms = plan.partition.seconds * 1e3;
  report.passes = plan.lowering;
  report.regions = count_regions(plan);
  const std::vector<const DelegatedPlan*> graphs = all_graphs(plan);
  for (const bool offloaded : {true, false})
    for (const DelegatedPlan* const each : graphs)
      add_region_reports(*each, offloaded, report.region_reports);
  for (const DelegatedPlan* const each : graphs) add_cpu_nodes(*each, report.cpu_nodes);
  report.structure = structure_of(plan.graph, plan.partition, plan.program->compiled());
  return report;
}

}  // namespace parallax
