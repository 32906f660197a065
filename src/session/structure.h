// The paper's table of structure: how many nodes, layers, parallel layers and branches a graph has
// before partitioning, after it, and as refined. Pure function. Internal to session/.
#pragma once

#include <vector>

#include "execute/program.h"
#include "parallax/report.h"
#include "partition/partition.h"

namespace parallax {

/// `partition`: null if the CPU runs everything; partitioning then changes nothing.
std::vector<StructureReport> structure_of(const Compiled& compiled, const Partition* partition);

}  // namespace parallax
