// Determines when the bytes of a value are written and read, and which nodes may overwrite them.
// Internal to compile/.
#pragma once

#include "compile/compiled.h"

namespace parallax {

/// Returns whether the output of `node` shares the bytes of its input.
bool is_view(const Graph& graph, const Node& node);

/// Fills in everything that follows from the dims, roots and kernels of `compiled`: which values
/// are stored in graph outputs and which stay inside their region, the memory problem and its
/// buffers, the readers of values of run-time size. `like`: a Compiled of the same context to copy
/// from; null: not available. A device may read its inputs and write its outputs at any time while
/// its region runs, so they live as long as that branch.
void find_lifetimes(Compiled& compiled, const Compiled* like);

}  // namespace parallax
