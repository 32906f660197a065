// Estimates how much memory a graph of a file will need, before it is made: a small file may have
// very many nodes, so loading charges the estimate to its LoadQuota. Pure functions.
//
// The estimate errs upwards: its terms are measured peaks of planning (graph_memory.cc has the
// numbers).
#pragma once

#include <cstddef>
#include <cstdint>

#include "load/onnx/structure.h"

namespace parallax {

/// Returns the bytes that the graph with its bodies and a plan of it need, apart from weights,
/// shapes and known elements. Visits every node and body once. The counts come from a file that was
/// parsed, so sums cannot overflow.
std::int64_t memory_of_graph(const CheckedGraph& checked);
/// Returns the bytes of `count` nodes with one input, one output and no attributes, by which the
/// quota is raised for the nodes of a file's main graph.
std::int64_t memory_of_nodes(std::size_t count);

}  // namespace parallax
