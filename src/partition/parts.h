// Decomposes operators that a delegate lacks into operators that it has
// (lower/patterns/decompose.h). Thread-safety: pure functions.
#pragma once

#include <optional>

#include "device/support.h"

namespace parallax {

/// The parts of a node, in a graph of their own in which every dimension is a number.
struct NodeParts {
  Graph graph;
  ConcreteShapes shapes;
};
/// Returns the parts of a node; nullopt if it has none, a dimension is not known, or the delegate
/// cannot run one of them.
std::optional<NodeParts> supported_parts(const Graph& graph, const ConcreteShapes& shapes,
                                         NodeId id, const Delegate& delegate);

}  // namespace parallax
