// Divides a region into steps: a node with the nodes fused into it, a chain of elementwise nodes,
// or a view. Needs no sizes. Thread-safety: pure functions. Region::compile() calls it once per
// region, after with_few_operands().
#pragma once

#include <cstdint>
#include <vector>

#include "delegates/opencl/elementwise.h"
#include "ir/epilogue.h"
#include "ir/graph.h"

namespace parallax::opencl {

enum class StepKind : std::uint8_t {
  /// One node that has a row in operators.def, with the nodes fused into it.
  kNode,
  /// Elementwise nodes that become one generated kernel.
  kChain,
  kView,  ///< the result has the bytes of input 0: no kernel runs if the result may share them
};

/// One step of a region. Ids are those of the graph that was given to find_steps().
struct Step {
  StepKind kind = StepKind::kNode;
  NodeId node;     ///< kNode, kView; the last node of a chain
  ValueId result;  ///< output 0, after the fused nodes
  /// kNode: factor of a product's sums, before the addition. Only a MatMul of two inputs has
  /// another value.
  float scale = 1;
  /// kNode: a vector that is added to each row; invalid if absent. Always a constant with as many
  /// elements as a row.
  ValueId added;
  Activation activation;  ///< kNode: applied at the end
  Chain chain;            ///< kChain
  /// Values that the step reads and writes, without absent ones. Reads may have repetitions, and
  /// include parameters that only define shapes.
  std::vector<ValueId> reads, makes;
};

/// Returns the steps in execution order; together they have every node once. A value between two
/// nodes of a step is in no `makes`. Errors: kUnsupported for a node that the delegate lacks. The
/// error names the node. Steps are in the order of their last nodes, except that a product runs in
/// the place of its own node.
Result<std::vector<Step>> find_steps(const Graph& graph);

}  // namespace parallax::opencl
