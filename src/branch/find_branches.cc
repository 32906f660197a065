#include <algorithm>

#include "branch/branch.h"

namespace parallax {
namespace {

/// The branch that `node` continues: that of its only predecessor, where that one feeds nothing
/// else. Invalid where `node` starts a branch.
BranchId continued_branch(const Dag& dag, const IdVector<NodeId, BranchId>& branch_of,
                          NodeId node) {
  const auto& predecessors = dag.predecessors[node];
  if (predecessors.size() != 1 || dag.is_forced(node)) return BranchId{};
  const NodeId predecessor = predecessors.front();
  if (dag.is_forced(predecessor)) return BranchId{};
  return dag.successors[predecessor].size() == 1 ? branch_of[predecessor] : BranchId{};
}

/// Only the first node of a branch reads from other branches, and only from their last nodes: ids
/// given at first nodes are in topological order.
void connect_branches(const Dag& dag, BranchGraph& graph) {
  graph.predecessors.resize(graph.branches.size());
  graph.successors.resize(graph.branches.size());
  for (BranchId branch : graph.branches.ids()) {
    auto& predecessors = graph.predecessors[branch];
    for (NodeId node : dag.predecessors[graph.branches[branch].front()]) {
      predecessors.push_back(graph.branch_of[node]);
    }
    std::sort(predecessors.begin(), predecessors.end());
    predecessors.erase(std::unique(predecessors.begin(), predecessors.end()), predecessors.end());
    for (BranchId predecessor : predecessors) graph.successors[predecessor].push_back(branch);
  }
}

/// Algorithm 2: the layer of a branch is the length of the longest path to it.
void find_layers(BranchGraph& graph) {
  IdVector<BranchId, std::size_t> layer_of(graph.branches.size(), 0);
  for (BranchId branch : graph.branches.ids()) {
    std::size_t& layer = layer_of[branch];
    for (BranchId predecessor : graph.predecessors[branch]) {
      layer = std::max(layer, layer_of[predecessor] + 1);
    }
    if (layer >= graph.layers.size()) graph.layers.resize(layer + 1);
    graph.layers[layer].push_back(branch);
  }
}

}  // namespace

BranchGraph find_branches(const Dag& dag) {
  BranchGraph graph;
  graph.branch_of.resize(dag.predecessors.size());
  for (NodeId node : dag.predecessors.ids()) {
    BranchId branch = continued_branch(dag, graph.branch_of, node);
    if (!branch.valid()) branch = graph.branches.push_back({});
    graph.branches[branch].push_back(node);
    graph.branch_of[node] = branch;
  }
  connect_branches(dag, graph);
  find_layers(graph);
  return graph;
}

}  // namespace parallax
