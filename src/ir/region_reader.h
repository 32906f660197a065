// Converts the structs of parallax/delegate.h that describe a region: the reverse of
// delegate_host/c_region.h, for delegates that use the library. The structs are not trusted: all
// that later code relies on is checked. Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/graph.h"
#include "parallax/delegate.h"

namespace parallax {

/// Returns the graph of a region. Values keep their numbers. Values that become known when sizes
/// are bound are kSymbolic, without content. Constants of values are views of the host's bytes,
/// which live as long as the region; those of attributes are copies. Errors: kUnsupported for an
/// unknown operator, attribute or type; kInvalidInput for a region that contradicts itself.
Result<Graph> read_region(const px_region* region);

/// Returns one tensor for each of the first `count` values of a region's graph: its dims, and the
/// bytes of constants and of values that are known when sizes are bound; other tensors have none.
/// The bytes are valid as long as those of `sizes`. Errors: kInvalidInput.
Result<std::vector<Constant>> read_sizes(const Graph& graph, std::size_t count,
                                         const px_sizes* sizes);

/// Returns a copy of a region's graph with the shapes of `sizes`, without symbols, and with copies
/// of the values that are known now. Inference is left to the caller. Errors: as read_sizes().
Result<Graph> with_sizes(const Graph& region, const px_sizes* sizes);

}  // namespace parallax
