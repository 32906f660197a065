// What of a region is one step: a node with what is fused into it, a chain of elementwise nodes, or
// a view. No sizes are needed. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "delegates/opencl/elementwise.h"
#include "ir/epilogue.h"
#include "ir/graph.h"

namespace parallax::opencl {

enum class StepKind : std::uint8_t {
  kNode,
  kChain,
  kView,  ///< the result has the bytes of input 0: nothing runs, if the result may lie there
};

struct Step {
  StepKind kind = StepKind::kNode;
  NodeId node;            ///< kNode, kView; of a chain the last
  ValueId result;         ///< of output 0, behind what is fused
  float scale = 1;        ///< kNode: of a product, before anything is added
  ValueId added;          ///< kNode: a vector that is added to each row; or none
  Activation activation;  ///< kNode: applied at the end
  Chain chain;            ///< kChain
  /// Values that the step reads and makes, absent ones left out.
  std::vector<ValueId> reads, makes;
};

/// Steps in the order in which they run; together they have every node once. A value between two
/// nodes of a step is in no `makes`. Errors: kUnsupported for a node that the delegate lacks.
Result<std::vector<Step>> find_steps(const Graph& graph);

}  // namespace parallax::opencl
