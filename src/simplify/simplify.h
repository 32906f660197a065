// The passes for all targets; simplify.cc lists the order in which they run. They produce the
// canonical graph: all its operators are those that models use, without fused ones.
//
// Each function is a Pass::run: it rewrites `graph` and returns the number of changes that it made.
// Errors: those of inference and of the verifier; after an error the graph must be discarded. One
// thread rewrites a graph.
#pragma once

#include "simplify/pass.h"

namespace parallax {

/// Replaces nodes that compute shapes by constants, or by shapes of inputs.
Result<int> fold_shapes(Graph& graph, const PassContext& context);
/// Replaces nodes whose inputs are all constant by their results.
Result<int> fold_constants(Graph& graph, const PassContext& context);
/// Does what fold_constants() does, and folds DequantizeLinear too. Not one of simplify_passes():
/// it runs after integer kernels have been selected.
Result<int> fold_dequantised(Graph& graph, const PassContext& context);
/// Replaces an If whose condition is constant by its branch.
Result<int> inline_if(Graph& graph, const PassContext& context);
/// Lets reductions keep axes that whatever reads the results puts back.
Result<int> keep_reduced_axes(Graph& graph, const PassContext& context);
/// Gives products back the axes that were merged before them and are split after them.
Result<int> split_batches(Graph& graph, const PassContext& context);
/// Removes nodes that return their input unchanged.
Result<int> remove_no_ops(Graph& graph, const PassContext& context);
/// Replaces nodes that compute the same by one of them.
Result<int> common_subexpressions(Graph& graph, const PassContext& context);
/// Replaces sequences and optionals whose length is known by their elements.
Result<int> static_objects(Graph& graph, const PassContext& context);
/// Removes nodes whose results no other node and no output of the graph reads.
Result<int> dead_code(Graph& graph, const PassContext& context);

/// Returns all passes in the order in which they run; a comment above each row in simplify.cc
/// explains its position.
std::span<const Pass> simplify_passes();

}  // namespace parallax
