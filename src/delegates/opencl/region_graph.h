// Structs of parallax/delegate.h as the graph and sizes that a region takes. The structs are
// checked as far as what follows relies on it. Thread-safety: pure functions.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "kernels/kernel.h"
#include "parallax/delegate.h"

namespace parallax::opencl {

/// Values have the numbers that they have in `region`; those that are known when sizes are bound
/// are kSymbolic, without content. Constants are views of the host's bytes, which live as long as
/// the region. Errors: kUnsupported for an operator that the graph has no name for, kInvalidInput
/// for a region that contradicts itself.
Result<Graph> graph_of(const px_region* region);

/// Dims of each of the graph's first `count` values, and bytes of constants and of what is known.
/// Errors: kInvalidInput.
Result<std::vector<TensorDesc>> sizes_of(const Graph& graph, std::size_t count,
                                         const px_sizes* sizes);

}  // namespace parallax::opencl
