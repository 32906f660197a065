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
// nodes in between are maximal; branches partition the nodes. A region that a delegate runs is one
// node for all this, and a branch of its own, so that it can run beside others. Layers are the
// levels of the branch graph (longest path from a source). Knows nothing of bytes. Pure functions,
// O(V+E) but for coarsen().
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "ir/dag.h"

namespace parallax {

using UnitId = Id<struct UnitTag>;

/// The graph as branches see it: a unit is a node, or all nodes of a region that a delegate runs as
/// one piece. Units are in topological order.
struct CoarseDag {
  IdVector<UnitId, std::vector<NodeId>> nodes;  ///< ascending, hence in execution order
  IdVector<UnitId, RegionId> region;            ///< invalid: a single node on the CPU
  IdVector<UnitId, std::vector<UnitId>> predecessors, successors;  ///< distinct, ascending
};
/// `region_of`: of each node, invalid where the CPU runs it; empty: there are no regions.
/// REQUIRES: regions taken as one node each leave no cycle (partition() promises it). Where there
/// are none, units are the nodes, in the same order. O((V+E) log V).
CoarseDag coarsen(const Dag& dag, const IdVector<NodeId, RegionId>& region_of = {});

enum class NodeClass : std::uint8_t { kSequential, kSplitter, kMerger, kSplitMerge };
std::string_view to_string(NodeClass node_class);
NodeClass classify(const CoarseDag& dag, UnitId unit);

struct BranchGraph {
  IdVector<BranchId, std::vector<NodeId>>
      branches;  ///< nodes in execution order; ids in topological order
  /// A region is a branch of its own, and a delegate runs it; invalid: the CPU runs the branch.
  IdVector<BranchId, RegionId> region;
  IdVector<NodeId, BranchId> branch_of;
  IdVector<BranchId, std::vector<BranchId>> predecessors;
  IdVector<BranchId, std::vector<BranchId>> successors;
  std::vector<std::vector<BranchId>> layers;
};
BranchGraph find_branches(const CoarseDag& dag);

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
