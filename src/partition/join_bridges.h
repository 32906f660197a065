// Joins candidate regions over nodes that the delegate can run but that are not worth a region.
// Internal to partition/.
#pragma once

#include "partition/cost.h"
#include "partition/quotient.h"

namespace parallax {

struct NodeKinds {
  IdVector<NodeId, bool> can_run;
  IdVector<NodeId, bool> bridge;  ///< and not can_run
  /// Whose region another delegate runs: neither of both; empty: of none.
  IdVector<NodeId, RegionId> taken = {};
};

/// For every bridge node, in order: two neighbouring groups (candidates, or such unions) and the
/// node become one where the union is convex, wins, and saves more than its parts do apart; a group
/// so made takes in further neighbours by the same rule. Bridge nodes that follow each other are
/// tried as a whole, up to a few of them. In `quotient` a bridge node that joined nothing stays a
/// group of its own.
void join_bridges(const NodeKinds& kinds, Pricer& pricer, Quotient& quotient);

}  // namespace parallax
