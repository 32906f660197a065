// Divides a region into steps: a node with the nodes fused into it, a chain of elementwise nodes,
// or a view. Needs no sizes. Thread-safety: pure functions.
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
  kView,  ///< the result has the bytes of input 0: no kernel runs if the result may share them
};

/// One step of a region.
struct Step {
  StepKind kind = StepKind::kNode;
  NodeId node;            ///< kNode, kView; the last node of a chain
  ValueId result;         ///< output 0, after the fused nodes
  float scale = 1;        ///< kNode: factor of a product's sums, before the addition
  ValueId added;          ///< kNode: a vector that is added to each row; invalid if absent
  Activation activation;  ///< kNode: applied at the end
  Chain chain;            ///< kChain
  /// Values that the step reads and writes, without absent ones.
  std::vector<ValueId> reads, makes;
};

/// Returns the steps in execution order; together they have every node once. A value between two
/// nodes of a step is in no `makes`. Errors: kUnsupported for a node that the delegate lacks.
Result<std::vector<Step>> find_steps(const Graph& graph);

}  // namespace parallax::opencl
