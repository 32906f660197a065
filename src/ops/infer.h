// Runs inference over graphs and single nodes.
#pragma once

#include <span>
#include <vector>

#include "ops/op.h"

namespace parallax {

/// Fills dtype, shape and content of the outputs of `node` (whose inputs are filled), adding kData
/// symbols as needed. Refuses outputs of rank > Dims::kMaxRank. Errors: as the operator's
/// inference.
Status infer_node(Graph& graph, NodeId node);
/// infer_node over all nodes, in order, after check_node on each.
Status infer_graph(Graph& graph);

/// A tensor as the executor knows it at run time: concrete, with its bytes where the operator's
/// shape_inputs ask for them.
struct RuntimeInput {
  bool present = false;
  DType dtype = DType::kF32;
  Dims dims;
  const std::byte* bytes = nullptr;  ///< aligned; may be null for inputs that are not shape inputs
};
/// Output dims of `node` for concrete inputs; nullopt for an output that only the kernel can size
/// (NonZero, NonMaxSuppression). Errors: code kInvalidInput or kOutOfRange, stage kExecute.
Result<std::vector<std::optional<Dims>>> infer_runtime(const Node& node,
                                                       std::span<const RuntimeInput> inputs);

}  // namespace parallax
