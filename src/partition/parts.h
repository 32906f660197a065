// Operators that a delegate lacks but whose parts it has (lower/patterns/decompose.h). Pure
// functions.
#pragma once

#include <optional>

#include "device/support.h"

namespace parallax {

/// A node in parts, alone in a graph in which every dimension is a number.
struct NodeParts {
  Graph graph;
  ConcreteShapes shapes;
};
/// Nothing where the node has none, some dimension is not known, or the delegate cannot run one of
/// them.
std::optional<NodeParts> supported_parts(const Graph& graph, const ConcreteShapes& shapes,
                                         NodeId id, const Delegate& delegate);

}  // namespace parallax
