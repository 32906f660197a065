#include <algorithm>

#include "branch/branch.h"

namespace parallax {

Dag dag_of(const Graph& graph) {
  Dag dag;
  dag.predecessors.resize(graph.nodes.size());
  dag.successors.resize(graph.nodes.size());
  dag.forced = IdVector<NodeId, bool>(graph.nodes.size(), false);
  for (NodeId node : graph.nodes.ids()) {
    dag.forced[node] = !graph.nodes[node].bodies.empty();
    auto& predecessors = dag.predecessors[node];
    for (ValueId input : graph.nodes[node].inputs) {
      if (!input.valid() || graph.values[input].kind != ValueKind::kResult) continue;
      predecessors.push_back(graph.values[input].producer);
    }
    std::sort(predecessors.begin(), predecessors.end());
    predecessors.erase(std::unique(predecessors.begin(), predecessors.end()), predecessors.end());
    for (NodeId predecessor : predecessors) dag.successors[predecessor].push_back(node);
  }
  return dag;
}

std::string_view to_string(NodeClass node_class) {
  switch (node_class) {
    case NodeClass::kSequential:
      return "Sequential";
    case NodeClass::kSplitter:
      return "Splitter";
    case NodeClass::kMerger:
      return "Merger";
    case NodeClass::kSplitMerge:
      return "Split-Merge";
  }
  return "unknown";
}

NodeClass classify(const Dag& dag, NodeId node) {
  const bool merges = dag.predecessors[node].size() > 1;
  const bool splits = dag.successors[node].size() > 1;
  if (dag.is_forced(node) || (merges && splits)) return NodeClass::kSplitMerge;
  if (merges) return NodeClass::kMerger;
  return splits ? NodeClass::kSplitter : NodeClass::kSequential;
}

}  // namespace parallax
