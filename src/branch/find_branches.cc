#include <algorithm>

#include "branch/branch.h"

namespace parallax {
namespace {

/// Returns the branch that `unit` continues: that of its only predecessor, if `unit` is the only
/// successor of that one and neither must be alone. Invalid if `unit` starts a branch.
BranchId continued_branch(const CoarseDag& dag, const IdVector<UnitId, BranchId>& branch_of,
                          UnitId unit) {
  const auto& predecessors = dag.predecessors[unit];
  if (predecessors.size() != 1 || dag.forced[unit]) return BranchId{};
  const UnitId predecessor = predecessors.front();
  if (dag.successors[predecessor].size() != 1 || dag.forced[predecessor]) return {};
  return branch_of[predecessor];
}

/// Only the first unit of a branch reads from other branches, and only from their last units: ids
/// given at first units are in topological order.
void connect_branches(const CoarseDag& dag, const IdVector<UnitId, BranchId>& branch_of,
                      const IdVector<BranchId, UnitId>& first, BranchGraph& graph) {
  graph.predecessors.resize(graph.branches.size());
  graph.successors.resize(graph.branches.size());
  for (BranchId branch : graph.branches.ids()) {
    auto& predecessors = graph.predecessors[branch];
    for (UnitId unit : dag.predecessors[first[branch]]) predecessors.push_back(branch_of[unit]);
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

BranchGraph find_branches(const CoarseDag& dag) {
  BranchGraph graph;
  IdVector<UnitId, BranchId> branch_of(dag.nodes.size());
  IdVector<BranchId, UnitId> first;
  std::size_t nodes = 0;
  for (UnitId unit : dag.nodes.ids()) {
    BranchId branch = continued_branch(dag, branch_of, unit);
    if (!branch.valid()) {
      branch = graph.branches.push_back({});
      graph.region.push_back(dag.region[unit]);
      first.push_back(unit);
    }
    auto& members = graph.branches[branch];
    members.insert(members.end(), dag.nodes[unit].begin(), dag.nodes[unit].end());
    branch_of[unit] = branch;
    nodes += dag.nodes[unit].size();
  }
  graph.branch_of.resize(nodes);
  for (BranchId branch : graph.branches.ids()) {
    for (NodeId node : graph.branches[branch]) graph.branch_of[node] = branch;
  }
  connect_branches(dag, branch_of, first, graph);
  find_layers(graph);
  return graph;
}

}  // namespace parallax
