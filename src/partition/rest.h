// Separates the graph from the regions of a partition, so that the CPU may rewrite the rest, and
// merges both again. Thread-safety: pure functions.
#pragma once

#include <vector>

#include "partition/partition.h"
#include "simplify/pass.h"

namespace parallax {

/// Returns the graph without regions: their results become further inputs, their operands further
/// outputs.
Graph cpu_rest(const Graph& graph, const Partition& partition);

/// Returns the paths from results of the rest through regions back into it, one for each region. A
/// pass that joins nodes needs them: otherwise it could create a node that waits for its own
/// results.
std::vector<Detour> detours_of(const Graph& graph, const Partition& partition);

/// A graph of regions and of the CPU's nodes.
struct Placed {
  Graph graph;
  IdVector<NodeId, RegionId> region_of;
};
/// Merges `rest`, which is cpu_rest(graph, partition) or the result of passes over it, with the
/// regions. Nodes of regions are those of `graph`.
Placed put_together(const Graph& graph, const Partition& partition, Graph rest);

}  // namespace parallax
