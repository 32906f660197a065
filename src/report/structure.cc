#include "report/structure.h"

#include <algorithm>
#include <utility>

namespace parallax {
namespace {

int units_of(const BranchGraph& graph) {
  std::size_t units = 0;
  for (const BranchId branch : graph.branches.ids())
    units += graph.region[branch].valid() ? 1 : graph.branches[branch].size();
  return static_cast<int>(units);
}

/// Makes a row. `widths`: the number of branches of each layer that may run concurrently.
StructureReport report_of(std::string stage, const BranchGraph& graph,
                          const std::vector<std::size_t>& widths) {
  StructureReport report;
  report.stage = std::move(stage);
  report.nodes = units_of(graph);
  report.layers = static_cast<int>(graph.layers.size());
  for (const std::size_t width : widths) {
    report.parallel_layers += width > 1 ? 1 : 0;
    report.max_branches = std::max(report.max_branches, static_cast<int>(width));
  }
  return report;
}

StructureReport unrefined(std::string stage, const BranchGraph& graph) {
  std::vector<std::size_t> widths;
  for (const auto& layer : graph.layers) widths.push_back(layer.size());
  return report_of(std::move(stage), graph, widths);
}

StructureReport refined(const Compiled& compiled) {
  std::vector<std::size_t> widths;
  for (const LayerGroups& groups : compiled.groups) {
    widths.push_back(1);
    for (const auto& group : groups.parallel) widths.back() = std::max(widths.back(), group.size());
  }
  return report_of("refined", compiled.context->branches, widths);
}

}  // namespace

std::vector<StructureReport> structure_of(const Compiled& compiled) {
  const BranchGraph& whole = compiled.context->branches;
  return {unrefined("before", whole), unrefined("partitioned", whole), refined(compiled)};
}

std::vector<StructureReport> structure_of(const Graph& graph, const Partition& partition,
                                          const Compiled& compiled) {
  const Dag dag = dag_of(graph);
  return {unrefined("before", find_branches(coarsen(dag))),
          unrefined("partitioned", find_branches(coarsen(dag, all_candidates(partition)))),
          refined(compiled)};
}

}  // namespace parallax
