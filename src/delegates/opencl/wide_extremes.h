// Splits Max and Min of many inputs into several nodes: the operands of a kernel are limited.
// Thread-safety: pure functions.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace parallax::opencl {

/// A rewritten graph. Existing values keep their ids; nodes get new ones.
struct NarrowGraph {
  Graph graph;
  /// For each value added after the given graph's: the value that has its type and sizes.
  std::vector<ValueId> like;
};
/// Splits nodes of more than kMaxOperands inputs: a node with the first inputs feeds the next one.
/// Each added value has the type and shape of the node's result.
NarrowGraph with_few_operands(Graph graph);

}  // namespace parallax::opencl
