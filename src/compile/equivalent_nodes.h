// Finds nodes whose output shapes are inferred in the same way under every binding of the symbols.
#pragma once

#include "base/id.h"
#include "ir/graph.h"

namespace parallax {

/// Returns for each node the first earlier one with the same operator and attributes, inputs and
/// outputs of the same dtypes and symbolic shapes, and equal elements of shape inputs: inference
/// that accepts one accepts the other. Returns the node itself if no such node is among the first
/// kMaxAlike different nodes of its operator; this limit keeps the time linear. Thread-safety: pure
/// function. Constants of more than 1 KiB are equal only if they are the same bytes in memory.
IdVector<NodeId, NodeId> find_equivalent(const Graph& graph);

inline constexpr std::size_t kMaxAlike = 32;

}  // namespace parallax
