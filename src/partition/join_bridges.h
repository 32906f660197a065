// Joins candidate regions across nodes that the delegate can run but that do not justify a region.
// Internal to partition/.
#pragma once

#include "partition/cost.h"
#include "partition/quotient.h"

namespace parallax {

/// The role of each node.
struct NodeKinds {
  IdVector<NodeId, bool> can_run;
  IdVector<NodeId, bool> bridge;  ///< can run as a bridge only, and is not in can_run
  /// The region of another delegate that has the node, which is then in neither of both; empty:
  /// there are no such regions.
  IdVector<NodeId, RegionId> taken = {};
};

/// For every bridge node, in order: joins the node and two neighbouring groups (candidates, or
/// unions of them) if the union is convex, wins, and saves more than its parts separately; such a
/// group absorbs further neighbours by the same rule. Adjacent bridge nodes are tried together, up
/// to a few of them. In `quotient` a bridge node that joined no region stays a group of its own.
void join_bridges(const NodeKinds& kinds, Pricer& pricer, Quotient& quotient);

}  // namespace parallax
