// The graph in which the nodes of stretches are two: one for the CPU's rows, one for the device's.
// It computes what the graph did; rows that a part needs and others make are cut out by Slice and
// put together by Concat. Weights are shared, not copied. Pure functions. Internal to partition/.
#pragma once

#include "partition/co_node.h"
#include "partition/split/co_segments.h"

namespace parallax {

struct CoGraph {
  Graph graph;
  IdVector<NodeId, CoNode> nodes;
};

/// `graph` without symbols: each size, and each element of symbolic values, is a number as
/// `binding` has it, where it does not depend on values.
Graph concrete_graph(const Graph& graph, const Binding& binding);

/// `graph`: of concrete_graph(), in the order it has; `plan` is of it. `on_device`: the device can
/// run the second part of the node.
CoGraph split_graph(const Graph& graph, const ConcreteShapes& shapes, const RowAxes& axes,
                    const CoPlan& plan, const IdVector<NodeId, bool>& on_device);

}  // namespace parallax
