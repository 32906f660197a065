// When the bytes of a value are written and read, and who may overwrite them. Internal to compile/.
#pragma once

#include "compile/compiled.h"

namespace parallax {

/// Whether the output of `node` has the bytes of its input.
bool is_view(const Graph& graph, const Node& node);

/// Fills in what follows from the dims, roots and kernels of `compiled`: which values lie in graph
/// outputs and which stay inside their region, the memory problem and its buffers, the readers of
/// what only running can size. `like`: of the same context; null: none.
void find_lifetimes(Compiled& compiled, const Compiled* like);

}  // namespace parallax
