// Patterns: groups of nodes that together are one operator, which some target has. One declaration
// each; its source documents the pattern, its guards and its result. The target decides which of
// them run, and when. Every function is a Pass::run.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>

#include "simplify/pass.h"

namespace parallax {

Result<int> turn_conv_transpose(Graph& graph, const PassContext& context);
Result<int> fuse_conv_bn(Graph& graph, const PassContext& context);
Result<int> fuse_layer_normalization(Graph& graph, const PassContext& context);
Result<int> fuse_rms_normalization(Graph& graph, const PassContext& context);
Result<int> fuse_silu(Graph& graph, const PassContext& context);
Result<int> fuse_gelu(Graph& graph, const PassContext& context);
Result<int> fuse_matmul_bias(Graph& graph, const PassContext& context);
Result<int> fuse_activation(Graph& graph, const PassContext& context);
Result<int> fuse_pad(Graph& graph, const PassContext& context);
Result<int> fuse_cosine_attention(Graph& graph, const PassContext& context);
Result<int> fuse_attention(Graph& graph, const PassContext& context);
Result<int> fuse_norm_residual(Graph& graph, const PassContext& context);
Result<int> fuse_conv_residual(Graph& graph, const PassContext& context);
Result<int> fuse_chain(Graph& graph, const PassContext& context);

/// Patterns that make an operator of its own, which a device may support.
struct OperatorPattern {
  OpKind made;
  Pass pass;
};
inline constexpr OperatorPattern kOperatorPatterns[] = {
    {OpKind::kLayerNormalization,
     {"fuse_layer_normalization", fuse_layer_normalization, {OpKind::kReduceMean}}},
    {OpKind::kRMSNormalization,
     {"fuse_rms_normalization", fuse_rms_normalization, {OpKind::kReduceMean}}},
    {OpKind::kSilu, {"fuse_silu", fuse_silu, {OpKind::kSigmoid}}},
    {OpKind::kGelu, {"fuse_gelu", fuse_gelu, {OpKind::kErf, OpKind::kTanh}}},
    {OpKind::kCosineAttention,
     {"fuse_cosine_attention", fuse_cosine_attention, {OpKind::kSoftmax}}},
    {OpKind::kFusedAttention, {"fuse_attention", fuse_attention, {OpKind::kSoftmax}}},
};
/// Returns the pattern that makes `made`. REQUIRES: there is one.
constexpr Pass pattern_of(OpKind made) {
  return std::ranges::find(kOperatorPatterns, made, &OperatorPattern::made)->pass;
}

/// Fuses nodes to the operators for which `has` is true, except by `disabled` passes: for a device
/// that has these operators. Returns the number of changes. Does not touch bodies.
Result<int> fuse_for(const std::function<bool(OpKind)>& has, Graph& graph,
                     const PassContext& context, std::span<const std::string> disabled = {});

// Decompositions of the operators that they make (decompose.h).
class Parts;
void decompose_silu(Parts& parts);
void decompose_matmul_bias(Parts& parts);
void decompose_activation(Parts& parts);
void decompose_cosine_attention(Parts& parts);
void decompose_attention(Parts& parts);
void decompose_norm_residual(Parts& parts);
void decompose_conv_residual(Parts& parts);
void decompose_chain(Parts& parts);

}  // namespace parallax
