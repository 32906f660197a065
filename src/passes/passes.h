// One declaration per pass; passes.cc says in which order they run, and each pass's source what it
// does. Every function is a Pass::run.
#pragma once

#include "passes/pass.h"

namespace parallax {

Result<int> fold_shapes(Graph& graph, const PassContext& context);
Result<int> fold_constants(Graph& graph, const PassContext& context);
Result<int> inline_if(Graph& graph, const PassContext& context);
Result<int> remove_no_ops(Graph& graph, const PassContext& context);
Result<int> common_subexpressions(Graph& graph, const PassContext& context);
Result<int> dead_code(Graph& graph, const PassContext& context);
Result<int> fuse_conv_bn(Graph& graph, const PassContext& context);
Result<int> fuse_silu(Graph& graph, const PassContext& context);
Result<int> fuse_gelu(Graph& graph, const PassContext& context);
Result<int> fuse_matmul_bias(Graph& graph, const PassContext& context);
Result<int> fuse_activation(Graph& graph, const PassContext& context);
Result<int> fuse_pad(Graph& graph, const PassContext& context);
Result<int> fuse_cosine_attention(Graph& graph, const PassContext& context);
Result<int> fuse_attention(Graph& graph, const PassContext& context);
Result<int> absorb_transposes(Graph& graph, const PassContext& context);
Result<int> fuse_norm_residual(Graph& graph, const PassContext& context);
Result<int> layout_nhwc(Graph& graph, const PassContext& context);
Result<int> compose_movement(Graph& graph, const PassContext& context);

}  // namespace parallax
