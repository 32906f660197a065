#include "report/kernel_report.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "kernels/registry.h"
#include "ops/op.h"

namespace parallax {
namespace {

/// Number of nodes, by operator and kernel.
using Counts = std::map<std::pair<std::string, std::string>, int>;

std::string kernel_of(const CompiledNode& node) {
  switch (node.role) {
    case NodeRole::kPlanned:
      return std::string(node.code.row->name);
    case NodeRole::kDelegated:
      return "delegate";
    case NodeRole::kRunTime:
      return "run time";
    case NodeRole::kObjects:
      return "objects";
    case NodeRole::kView:
    case NodeRole::kBodies:
      break;
  }
  return "none";
}

/// Counts the nodes of a graph and its bodies, nested at most LoadOptions::max_nesting deep.
void count(const Compiled& compiled, Counts& counts) {
  const Graph& graph = compiled.graph();
  for (const NodeId id : graph.nodes.ids()) {
    const CompiledNode& node = compiled.nodes[id];
    ++counts[{std::string(to_string(graph.nodes[id].op)), kernel_of(node)}];
    for (const CompiledBody& body : node.bodies)
      if (!body.error) count(*body.compiled, counts);
  }
}

}  // namespace

std::vector<KernelReport> kernel_reports(const Compiled& compiled) {
  Counts counts;
  count(compiled, counts);
  std::vector<KernelReport> reports;
  for (const auto& [key, nodes] : counts) reports.push_back({key.first, key.second, nodes});
  std::ranges::stable_sort(reports, std::ranges::greater{}, &KernelReport::nodes);
  return reports;
}

}  // namespace parallax
