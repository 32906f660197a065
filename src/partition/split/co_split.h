// Builds the graph in which the nodes of stretches are divided into two: one for the CPU's rows,
// one for the device's. It is equivalent to the original; rows that one part needs and others
// compute are extracted by Slice and joined by Concat. Weights are shared, not copied.
// Thread-safety: pure functions. Internal to partition/.
#pragma once

#include "partition/co_node.h"
#include "partition/split/co_segments.h"

namespace parallax {

struct CoGraph {
  Graph graph;
  IdVector<NodeId, CoNode> nodes;
};

/// Returns `graph` without symbols: each size, and each element of symbolic values, is a number
/// under `binding`, unless it depends on values.
Graph concrete_graph(const Graph& graph, const Binding& binding);

/// Splits `graph`, a result of concrete_graph(), in its order; `plan` belongs to it. `on_device`:
/// whether the device can run the second part of each node.
CoGraph split_graph(const Graph& graph, const ConcreteShapes& shapes, const RowAxes& axes,
                    const CoPlan& plan, const IdVector<NodeId, bool>& on_device);

}  // namespace parallax
