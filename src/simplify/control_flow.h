// What passes do about nodes that hold bodies. Not thread-safe.
#pragma once

#include "simplify/pass.h"

namespace parallax {

/// Puts constants and symbolic values that bodies capture into them, and drops captures and outputs
/// that are not read; `closed` as in PassContext. Returns the number of changes. The graph's shapes
/// stay as they are.
int tidy_bodies(Graph& graph, const std::set<std::string>& closed = {});

/// Runs the pass over the graph, then over the bodies inside, innermost last; shapes are inferred
/// again where a body changed.
Result<int> run_with_bodies(const Pass& pass, Graph& graph, const PassContext& context);

}  // namespace parallax
