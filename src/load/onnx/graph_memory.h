// How much memory a graph of a file will take: a small file may have very many nodes. Pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "load/onnx/structure.h"

namespace parallax {

/// Bytes that the graph with its bodies and a plan of it take, apart from weights, shapes and known
/// elements.
std::int64_t memory_of_graph(const CheckedGraph& checked);
/// The same for so many nodes that the file has: with one input, one output and no attributes.
std::int64_t memory_of_nodes(std::size_t count);

}  // namespace parallax
