// The passes that every target wants: one declaration each; simplify.cc says in which order they
// run, and each pass's source what it does. They leave the canonical graph: every operator in it is
// one of the model's, none is fused. Every function is a Pass::run.
#pragma once

#include "simplify/pass.h"

namespace parallax {

Result<int> fold_shapes(Graph& graph, const PassContext& context);
Result<int> fold_constants(Graph& graph, const PassContext& context);
/// The same with DequantizeLinear: for after integer kernels took what they can.
Result<int> fold_dequantised(Graph& graph, const PassContext& context);
Result<int> inline_if(Graph& graph, const PassContext& context);
Result<int> remove_no_ops(Graph& graph, const PassContext& context);
Result<int> common_subexpressions(Graph& graph, const PassContext& context);
Result<int> static_objects(Graph& graph, const PassContext& context);
Result<int> dead_code(Graph& graph, const PassContext& context);

/// All of them in the order in which they run; the comment beside each row says why there.
std::span<const Pass> simplify_passes();

}  // namespace parallax
