// How much memory a graph of a file will take: a small file may have very many nodes. Pure
// functions.
#pragma once

#include <cstdint>

#include "load/onnx/structure.h"

namespace parallax {

/// Bytes that the graph with its bodies and a plan of it take, apart from weights, shapes and known
/// elements.
std::int64_t memory_of_graph(const CheckedGraph& checked);

}  // namespace parallax
