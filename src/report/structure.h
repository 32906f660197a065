// The paper's table of structure: how many nodes, layers, parallel layers and branches a graph has
// before partitioning, after it, and as refined. Pure function.
#pragma once

#include <vector>

#include "compile/compiled.h"
#include "parallax/report.h"
#include "partition/partition.h"

namespace parallax {

/// Returns the rows "before", "partitioned" and "refined" of a plan without delegates, in which
/// partitioning changes nothing.
std::vector<StructureReport> structure_of(const Compiled& compiled);
/// Returns these rows of a plan with delegates. `graph`: the canonical one, for the first two rows;
/// `partition`: its regions; `compiled`: the graph that runs, for the last row.
std::vector<StructureReport> structure_of(const Graph& graph, const Partition& partition,
                                          const Compiled& compiled);

}  // namespace parallax
