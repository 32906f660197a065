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
  IdVector<UnitId, bool> forced;                ///< Split-Merge: a region, or Dag::forced
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

/// Refinement: within each layer the groups of branches worth running at once, each of at least
/// two; the others run one after the other.
struct LayerGroups {
  std::vector<std::vector<BranchId>> parallel;
  std::vector<BranchId> sequential;
};
inline constexpr double kBalance = 1.5;    // the paper: beta
inline constexpr int kMinBranchNodes = 2;  // the paper: N > 2
/// A branch that takes no longer is not worth a hand-over to another thread, which costs some 5 us
/// on a two-core server.
inline constexpr double kSyncSeconds = 10e-6;

/// By predicted seconds: the branches above kSyncSeconds, heaviest first, form maximal groups with
/// longest/shortest <= kBalance. Branches that a delegate runs always overlap: they join the
/// heaviest group of their layer, or its longest branch where there is no group.
std::vector<LayerGroups> refine_by_time(const BranchGraph& graph,
                                        const IdVector<BranchId, double>& seconds);
/// The paper's rule as printed: a layer runs in parallel where each of its branches has more than
/// kMinBranchNodes nodes and the largest F is at most kBalance times the smallest (> 0), and one
/// branch after the other otherwise. `macs`: F of each branch.
std::vector<LayerGroups> refine_by_paper(const BranchGraph& graph,
                                         const IdVector<BranchId, double>& macs);
/// Every layer that has several branches runs in parallel.
std::vector<LayerGroups> refine_nothing(const BranchGraph& graph);

}  // namespace parallax
