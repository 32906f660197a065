// Branches and layers: which chains of nodes may run beside which others.
//
//        A              branches  {A} {B} {C} {D}
//       / \             layers    0: {A}   1: {B}, {C}   2: {D}
//      B   C
//       \ /
//        D
//
// The paper's Algorithms 1 and 2 as decided in its checklist (C2.7-C2.9): nodes are classed by
// their numbers of distinct predecessor and successor nodes (none counts as one); a Splitter ends a
// branch, a Merger starts one, a Split-Merge node is a branch of its own, chains of Sequential
// nodes in between are maximal; branches partition the nodes. Layers are the levels of the branch
// graph (longest path from a source). Knows nothing of bytes. Pure functions, O(V+E).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "ir/graph.h"

namespace parallax {

/// Which node feeds which: distinct, ascending, nodes in topological order.
struct Dag {
  IdVector<NodeId, std::vector<NodeId>> predecessors;
  IdVector<NodeId, std::vector<NodeId>> successors;
  /// Nodes that are Split-Merge whatever their edges: If, Loop and Scan, which hold plans of their
  /// own. Empty: none.
  IdVector<NodeId, bool> forced = {};

  bool is_forced(NodeId node) const { return !forced.empty() && forced[node]; }
};
/// Edges through values; constants, symbolic values and graph inputs make none.
Dag dag_of(const Graph& graph);

enum class NodeClass : std::uint8_t { kSequential, kSplitter, kMerger, kSplitMerge };
std::string_view to_string(NodeClass node_class);
NodeClass classify(const Dag& dag, NodeId node);

struct BranchGraph {
  IdVector<BranchId, std::vector<NodeId>>
      branches;  ///< nodes in execution order; ids in topological order
  IdVector<NodeId, BranchId> branch_of;
  IdVector<BranchId, std::vector<BranchId>> predecessors;
  IdVector<BranchId, std::vector<BranchId>> successors;
  std::vector<std::vector<BranchId>> layers;
};
BranchGraph find_branches(const Dag& dag);

/// Refinement: within each layer the groups of branches worth running at once. A branch qualifies
/// with more than kMinBranchNodes nodes and work > 0; sorted by work, maximal groups with
/// largest/smallest <= kBalance form a group of at least two; the others run one after the other.
inline constexpr int kMinBranchNodes = 2;  // the paper: N > 2
inline constexpr double kBalance = 1.5;    // the paper: beta
struct LayerGroups {
  std::vector<std::vector<BranchId>> parallel;
  std::vector<BranchId> sequential;
};
/// `work`: predicted cost of each branch (MACs plus elements moved; any unit).
std::vector<LayerGroups> refine(const BranchGraph& graph, const IdVector<BranchId, double>& work);

}  // namespace parallax
