// Branches and layers: chains of nodes, and which of them may run concurrently.
//
//        A              branches  {A} {B} {C} {D}
//       / \             layers    0: {A}   1: {B}, {C}   2: {D}
//      B   C
//       \ /
//        D
//
// The paper's Algorithms 1 and 2 as decided in its checklist (C2.7-C2.9): nodes are classified by
// their numbers of distinct predecessor and successor nodes (0 counts as 1); a Splitter ends a
// branch, a Merger starts one, a Split-Merge node is a branch of its own, chains of Sequential
// nodes in between are maximal; branches partition the nodes. A region that a delegate runs counts
// as one node here, and is a branch of its own, so that it can run concurrently with others. Layers
// are the levels of the branch graph (longest path from a source). Independent of memory sizes.
// Thread-safety: pure functions, O(V+E) except coarsen().
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "ir/dag.h"

namespace parallax {

using UnitId = Id<struct UnitTag>;

/// The graph from which branches are built: a unit is a node, or all nodes of a region that a
/// delegate runs as one unit. Units are in topological order.
struct CoarseDag {
  IdVector<UnitId, std::vector<NodeId>> nodes;  ///< ascending, hence in execution order
  IdVector<UnitId, RegionId> region;            ///< invalid: a single node on the CPU
  IdVector<UnitId, bool> forced;                ///< Split-Merge: a region, or Dag::forced
  IdVector<UnitId, std::vector<UnitId>> predecessors, successors;  ///< distinct, ascending
};
/// Builds the units. `region_of`: the region of each node, invalid if the CPU runs it; empty: there
/// are no regions. REQUIRES: regions taken as one node each leave no cycle (partition() guarantees
/// it). Without regions, units are the nodes, in the same order. O((V+E) log V).
CoarseDag coarsen(const Dag& dag, const IdVector<NodeId, RegionId>& region_of = {});

enum class NodeClass : std::uint8_t { kSequential, kSplitter, kMerger, kSplitMerge };
std::string_view to_string(NodeClass node_class);
NodeClass classify(const CoarseDag& dag, UnitId unit);

struct BranchGraph {
  IdVector<BranchId, std::vector<NodeId>>
      branches;  ///< nodes in execution order; ids in topological order
  /// The region of a branch that a delegate runs; invalid: the CPU runs the branch.
  IdVector<BranchId, RegionId> region;
  IdVector<NodeId, BranchId> branch_of;
  IdVector<BranchId, std::vector<BranchId>> predecessors;
  IdVector<BranchId, std::vector<BranchId>> successors;
  std::vector<std::vector<BranchId>> layers;
};
BranchGraph find_branches(const CoarseDag& dag);

/// The groups of branches within a layer that are worth running concurrently, each of at least two;
/// the others run one after the other.
struct LayerGroups {
  std::vector<std::vector<BranchId>> parallel;
  std::vector<BranchId> sequential;
};
inline constexpr double kBalance = 1.5;    // the paper: beta
inline constexpr int kMinBranchNodes = 2;  // the paper: N > 2
/// Branches up to this time are not worth passing to another thread, which costs about 5 us on a
/// two-core server.
inline constexpr double kSyncSeconds = 10e-6;

/// Groups branches by predicted seconds: the branches above kSyncSeconds, heaviest first, form
/// maximal groups with longest/shortest <= kBalance. Branches of delegates always overlap: they
/// join the heaviest group of their layer, or its longest branch if there is no group.
std::vector<LayerGroups> refine_by_time(const BranchGraph& graph,
                                        const IdVector<BranchId, double>& seconds);
/// Groups branches by the paper's rule as printed: a layer runs in parallel if each of its branches
/// has more than kMinBranchNodes nodes and the largest F is at most kBalance times the smallest (>
/// 0); otherwise its branches run one after the other. `macs`: F of each branch.
std::vector<LayerGroups> refine_by_paper(const BranchGraph& graph,
                                         const IdVector<BranchId, double>& macs);
/// Groups all branches of each layer that has several.
std::vector<LayerGroups> refine_nothing(const BranchGraph& graph);

}  // namespace parallax
