// The paper's table of structure: how many nodes, layers, parallel layers and branches a graph has
// before partitioning, after it, and as refined. Pure function.
#pragma once

#include <vector>

#include "compile/compiled.h"
#include "parallax/report.h"
#include "partition/partition.h"

namespace parallax {

/// Where the CPU runs everything: partitioning changes nothing.
std::vector<StructureReport> structure_of(const Compiled& compiled);
/// `partition`: of `graph`, the canonical one; `compiled`: of what was made of both.
std::vector<StructureReport> structure_of(const Graph& graph, const Partition& partition,
                                          const Compiled& compiled);

}  // namespace parallax
