// Converts structs of parallax/delegate.h to the graph and sizes of a region. The structs are
// checked as far as later code relies on them. Thread-safety: pure functions.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "kernels/kernel.h"
#include "parallax/delegate.h"

namespace parallax::opencl {

/// Returns the graph of a region. Values keep their numbers; those that become known when sizes are
/// bound are kSymbolic, without content. Constants are views of the host's bytes, which live as
/// long as the region. Errors: kUnsupported for an unknown operator; kInvalidInput for a region
/// that contradicts itself.
Result<Graph> graph_of(const px_region* region);

/// Returns the dims of each of the graph's first `count` values, and the bytes of constants and of
/// known values. Errors: kInvalidInput.
Result<std::vector<TensorDesc>> sizes_of(const Graph& graph, std::size_t count,
                                         const px_sizes* sizes);

}  // namespace parallax::opencl
