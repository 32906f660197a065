// Attributes the CPU's time to nodes of the canonical graph, which it does not run directly: one
// node of the lowered graph may compute several of them, for the price of one. Thread-safety: pure
// functions.
#pragma once

#include "partition/cost.h"

namespace parallax {

/// Returns the lowered node that computes each canonical one; invalid if there is no such node. A
/// node into which others were fused keeps its name, so they belong to the node that reads them, or
/// to the chain that computes their result. O(V+E).
IdVector<NodeId, NodeId> computed_by(const Graph& canonical, const Graph& lowered);

/// Divides the time of each lowered node among the canonical nodes that it computes, in proportion
/// to the times that these would need alone.
IdVector<NodeId, double> shared_out(const IdVector<NodeId, double>& alone,
                                    const IdVector<NodeId, double>& lowered,
                                    const IdVector<NodeId, NodeId>& computed_by);
/// Returns the seconds of each canonical node on the CPU: its share of the lowered node that
/// computes it, in proportion to its time alone.
IdVector<NodeId, double> cpu_seconds(const Pricer& canonical, const Pricer& lowered,
                                     const IdVector<NodeId, NodeId>& computed_by);

}  // namespace parallax
