// What the CPU makes of each node of the canonical graph, which it does not run as it stands: one
// node of the lowered graph may compute several of them, for the price of one. Pure functions.
#pragma once

#include "partition/cost.h"

namespace parallax {

/// The lowered node that computes each canonical one. A node into which others were fused keeps its
/// name, so theirs is that of what reads them, or the chain that gives their result. Invalid:
/// nothing does. O(V+E).
IdVector<NodeId, NodeId> computed_by(const Graph& canonical, const Graph& lowered);

/// Of what each lowered node takes, the share of each canonical one that it computes, by what that
/// would take alone.
IdVector<NodeId, double> shared_out(const IdVector<NodeId, double>& alone,
                                    const IdVector<NodeId, double>& lowered,
                                    const IdVector<NodeId, NodeId>& computed_by);
/// Seconds of each canonical node on the CPU: its share of the lowered node that computes it, by
/// what it would take alone.
IdVector<NodeId, double> cpu_seconds(const Pricer& canonical, const Pricer& lowered,
                                     const IdVector<NodeId, NodeId>& computed_by);

}  // namespace parallax
