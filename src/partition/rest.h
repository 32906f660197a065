// The graph without the regions of a partition, which the CPU may rewrite as it likes, and both put
// together again. Pure functions.
#pragma once

#include <vector>

#include "partition/partition.h"
#include "simplify/pass.h"

namespace parallax {

/// What no region runs: what regions give are further inputs, what they take further outputs.
Graph cpu_rest(const Graph& graph, const Partition& partition);

/// The ways from results of the rest over regions back into it, one for each region. A pass that
/// joins nodes needs them, or it may make a node that waits for its own results.
std::vector<Detour> detours_of(const Graph& graph, const Partition& partition);

/// A graph of regions and of what the CPU runs besides.
struct Placed {
  Graph graph;
  IdVector<NodeId, RegionId> region_of;
};
/// `rest`: cpu_rest(graph, partition), or what passes made of it. Nodes of regions are as in
/// `graph`.
Placed put_together(const Graph& graph, const Partition& partition, Graph rest);

}  // namespace parallax
