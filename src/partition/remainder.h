// Separates the graph from the regions of a partition, so that the CPU may rewrite the remainder,
// and merges both again. Thread-safety: pure functions.
#pragma once

#include <vector>

#include "partition/partition.h"
#include "simplify/pass.h"

namespace parallax {

/// Returns the remainder, which is the graph without regions: their results become further inputs,
/// their operands further outputs.
Graph cpu_remainder(const Graph& graph, const Partition& partition);

/// Returns the paths from results of the remainder through regions back into it, one for each
/// region. A pass that joins nodes needs them: otherwise it could create a node that waits for its
/// own results.
std::vector<Detour> detours_of(const Graph& graph, const Partition& partition);

/// A graph of regions and of the CPU's nodes.
struct PartitionedGraph {
  Graph graph;
  IdVector<NodeId, RegionId> region_of;
};
/// Merges `remainder`, which is cpu_remainder(graph, partition) or the result of passes over it,
/// with the regions. Nodes of regions are those of `graph`.
PartitionedGraph merge_regions(const Graph& graph, const Partition& partition, Graph remainder);

}  // namespace parallax
