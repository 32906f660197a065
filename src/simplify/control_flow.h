// Passes over nodes that have bodies. Not thread-safe.
#pragma once

#include "simplify/pass.h"

namespace parallax {

/// Moves constants and symbolic values that bodies capture into the bodies, and removes captures
/// and outputs that are not read; `closed` as in PassContext. Returns the number of changes. The
/// shapes of the graph do not change.
int tidy_bodies(Graph& graph, const std::set<std::string>& closed = {});

/// Runs the pass over the graph, then over nested bodies, innermost last; infers shapes again if a
/// body changed. Returns the number of changes. Errors: those of the pass and of inference.
Result<int> run_with_bodies(const Pass& pass, Graph& graph, const PassContext& context);

}  // namespace parallax
