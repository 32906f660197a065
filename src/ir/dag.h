// The nodes of a graph and which feeds which, without what they compute: what partitioning and
// branches work on. Pure functions.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace parallax {

/// A set of nodes that a delegate runs as one piece.
using RegionId = Id<struct RegionTag>;

/// Edges of each node, distinct and ascending; nodes are in topological order.
struct Dag {
  IdVector<NodeId, std::vector<NodeId>> predecessors;
  IdVector<NodeId, std::vector<NodeId>> successors;
  /// Nodes that are Split-Merge whatever their edges: If, Loop and Scan, which hold plans of their
  /// own. Empty: none.
  IdVector<NodeId, bool> forced = {};

  bool is_forced(NodeId node) const { return !forced.empty() && forced[node]; }
};
/// Returns the edges of `graph` through values; constants, symbolic values and graph inputs make
/// none. Bodies are not entered: what they read are inputs of their node. O(V+E) but for sorting.
Dag dag_of(const Graph& graph);

}  // namespace parallax
