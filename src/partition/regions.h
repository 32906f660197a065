// Candidate regions: sets of nodes that a delegate could run as one piece.
//
//     a -> b -> u -> c        u cannot run. Regions {a, b} and {c, d}, or {a, b, d} and {c}; never
//           \-> d <-/          {a, b, c}: the path over u leaves it and comes back.
//
// Every region is connected and convex (no path leaves it and comes back); regions taken as one
// node each leave the graph without cycles. Regions are maximal: no union of regions has all this
// too. Pure, deterministic.
//
// Regions that other delegates have taken are nodes of their own that cannot run.
#pragma once

#include "partition/co_node.h"
#include "partition/quotient.h"

namespace parallax {

/// The groups: a candidate region each, a region of `taken`, or a single node that cannot run.
/// `taken`: the region that has each node, none of which can run; empty: there are none. Two linear
/// sweeps group nodes of equal depth (counted in changes between can and cannot), then neighbouring
/// groups are merged as long as any two can be. The last has a limit linear in the graph; where
/// exhausted() is true, regions may not be maximal but keep every other property.
///
/// `co`: of each node; empty: the graph is not split. No group has nodes of two stages. What the
/// device alone runs of a stage is one group for each depth in it, connected or not; but what waits
/// for less than the rest is a group of its own where it has enough work.
Quotient find_candidates(const Dag& edges, const IdVector<NodeId, bool>& can_run,
                         const IdVector<NodeId, RegionId>& taken = {},
                         const IdVector<NodeId, CoNode>& co = {});

}  // namespace parallax
