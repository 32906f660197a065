// Nodes that say the same of the shapes of their outputs, however the symbols are bound.
#pragma once

#include "base/id.h"
#include "ir/graph.h"

namespace parallax {

/// Of each node the first one before it with the same operator and attributes, whose inputs and
/// outputs have the same dtypes and symbolic shapes and whose shape inputs have the same elements:
/// inference that accepts one accepts the other. Itself where none is found: of one operator, the
/// first kMostAlike different nodes are looked through, so that time is linear.
IdVector<NodeId, NodeId> find_alike(const Graph& graph);

inline constexpr std::size_t kMostAlike = 32;

}  // namespace parallax
