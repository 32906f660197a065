// Candidate regions: sets of nodes that a delegate could run as one unit.
//
//     a -> b -> u -> c        u cannot run. Regions {a, b} and {c, d}, or {a, b, d} and {c}; never
//           \-> d <-/          {a, b, c}: the path over u leaves it and comes back.
//
// Every region is connected and convex (no path leaves it and returns); regions taken as one node
// each leave the graph without cycles. Regions are maximal: no union of regions has these
// properties. Thread-safety: pure functions; deterministic.
//
// Regions of other delegates are nodes of their own that cannot run.
#pragma once

#include "partition/co_node.h"
#include "partition/quotient.h"

namespace parallax {

/// Returns the groups: candidate regions, regions of `taken`, and single nodes that cannot run.
/// `taken`: the region of each node, none of which can run; empty: there are no such regions. Two
/// linear sweeps group nodes of equal depth (counted in changes between can and cannot), then
/// neighbouring groups are merged as long as possible. The latter has a limit linear in the graph;
/// if exhausted() is true, regions may not be maximal but keep every other property.
///
/// `co`: for each node; empty: the graph is not split. No group has nodes of two stages. The nodes
/// of a stage that only the device runs form one group for each depth in it, connected or not; but
/// nodes that wait for less than the rest form a separate group if they have enough work.
Quotient find_candidates(const Dag& edges, const IdVector<NodeId, bool>& can_run,
                         const IdVector<NodeId, RegionId>& taken = {},
                         const IdVector<NodeId, CoNode>& co = {});

}  // namespace parallax
