#include "ir/dag.h"

#include <algorithm>

namespace parallax {

Dag dag_of(const Graph& graph) {
  Dag dag;
  dag.predecessors.resize(graph.nodes.size());
  dag.successors.resize(graph.nodes.size());
  dag.forced = IdVector<NodeId, bool>(graph.nodes.size(), false);
  for (const NodeId node : graph.nodes.ids()) {
    dag.forced[node] = !graph.nodes[node].bodies.empty();
    auto& predecessors = dag.predecessors[node];
    for (const ValueId input : graph.nodes[node].inputs) {
      if (!input.valid() || graph.values[input].kind != ValueKind::kResult) continue;
      predecessors.push_back(graph.values[input].producer);
    }
    std::sort(predecessors.begin(), predecessors.end());
    predecessors.erase(std::unique(predecessors.begin(), predecessors.end()), predecessors.end());
    for (const NodeId predecessor : predecessors) dag.successors[predecessor].push_back(node);
  }
  return dag;
}

}  // namespace parallax
