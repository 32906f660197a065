// The passes for all targets; simplify.cc lists the order in which they run. They produce the
// canonical graph: all its operators are those that models use, without fused ones.
//
// Each function is a Pass::run, which run_passes() calls for the graph and for each body: it
// rewrites `graph` and returns the number of its changes. Errors: those of inference and of the
// verifier; after an error the graph must be discarded. One thread rewrites a graph.
#pragma once

#include "simplify/pass.h"

namespace parallax {

/// Replaces nodes that compute shapes by constants, or by expressions of the inputs' dimensions.
Result<int> fold_shapes(Graph& graph, const PassContext& context);
/// Replaces nodes whose inputs are all constant by their results, within the quota of the load.
Result<int> fold_constants(Graph& graph, const PassContext& context);
/// Does what fold_constants() does, and folds DequantizeLinear too. Not one of simplify_passes():
/// it runs after integer kernels have been selected.
Result<int> fold_dequantised(Graph& graph, const PassContext& context);
/// Replaces an If whose condition is constant by its branch.
Result<int> inline_if(Graph& graph, const PassContext& context);
/// Sets keepdims of reductions whose axes a Reshape restores later, after elementwise nodes.
Result<int> keep_reduced_axes(Graph& graph, const PassContext& context);
/// Lets matrix products keep two axes that a Reshape merges before them and that are split again
/// after them, such as batch and heads.
Result<int> split_batches(Graph& graph, const PassContext& context);
/// Removes nodes that return their input unchanged.
Result<int> remove_no_ops(Graph& graph, const PassContext& context);
/// Replaces nodes that compute the same by one of them.
Result<int> common_subexpressions(Graph& graph, const PassContext& context);
/// Replaces sequences and optionals whose length is known by their elements.
Result<int> static_objects(Graph& graph, const PassContext& context);
/// Removes nodes whose results reach no output of the graph.
Result<int> dead_code(Graph& graph, const PassContext& context);

/// Returns all passes in the order in which they run; a comment above each row in simplify.cc
/// explains its position.
std::span<const Pass> simplify_passes();

}  // namespace parallax
