// Max and Min of many inputs as several nodes: a kernel takes only so many operands. Pure
// functions.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace parallax::opencl {

struct NarrowGraph {
  Graph graph;
  /// Of each value that was added behind the given graph's: whose type and sizes it has.
  std::vector<ValueId> like;
};
/// Nodes of more than kMostOperands inputs give what they have of the first ones to the next.
NarrowGraph with_few_operands(Graph graph);

}  // namespace parallax::opencl
