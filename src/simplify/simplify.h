// The passes for all targets, one declaration each; simplify.cc lists the order in which they run,
// and each pass's source describes it. The result is the canonical graph: all operators in it are
// operators of models, none is fused. Every function is a Pass::run.
#pragma once

#include "simplify/pass.h"

namespace parallax {

Result<int> fold_shapes(Graph& graph, const PassContext& context);
Result<int> fold_constants(Graph& graph, const PassContext& context);
/// fold_constants() including DequantizeLinear: for use after integer kernels have been selected.
Result<int> fold_dequantised(Graph& graph, const PassContext& context);
Result<int> inline_if(Graph& graph, const PassContext& context);
Result<int> remove_no_ops(Graph& graph, const PassContext& context);
Result<int> common_subexpressions(Graph& graph, const PassContext& context);
Result<int> static_objects(Graph& graph, const PassContext& context);
Result<int> dead_code(Graph& graph, const PassContext& context);

/// Returns all passes in the order in which they run; the comment next to each row explains its
/// position.
std::span<const Pass> simplify_passes();

}  // namespace parallax
