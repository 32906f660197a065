#include "load/onnx/normalize/microsoft.h"

#include <algorithm>
#include <array>

namespace parallax {
namespace {

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

constexpr RuleRow row(std::string_view op_type, Status (*rewrite)(FileNode&)) {
  return {op_type, OpKind::kIdentity, rewrite, kAll, 1};
}
/// The same as the operator of ai.onnx.
constexpr RuleRow same(std::string_view op_type, OpKind kind) {
  return {op_type, kind, nullptr, kAll, 1};
}

constexpr std::array kRules = {
    row("Attention", rewrite_ms_attention),
    row("BiasGelu", rewrite_ms_bias_gelu),
    same("DequantizeLinear", OpKind::kDequantizeLinear),
    row("DynamicQuantizeLSTM", rewrite_ms_dynamic_lstm),
    row("DynamicQuantizeMatMul", rewrite_ms_dynamic_matmul),
    row("EmbedLayerNormalization", rewrite_ms_embed_layer_normalization),
    row("FastGelu", rewrite_ms_fast_gelu),
    row("FusedConv", rewrite_ms_fused_conv),
    row("FusedGemm", rewrite_ms_fused_gemm),
    row("FusedMatMul", rewrite_ms_fused_matmul),
    same("Gelu", OpKind::kGelu),
    row("GridSample", rewrite_ms_grid_sample),
    row("GroupQueryAttention", rewrite_ms_group_query_attention),
    row("MatMulIntegerToFloat", rewrite_ms_matmul_integer_to_float),
    row("MultiHeadAttention", rewrite_ms_multi_head_attention),
    row("NhwcConv", rewrite_ms_nhwc_conv),
    row("NhwcFusedConv", rewrite_ms_nhwc_conv),
    row("NhwcMaxPool", rewrite_ms_nhwc_max_pool),
    row("Pad", rewrite_ms_pad),
    row("QAttention", rewrite_ms_q_attention),
    row("QGemm", rewrite_ms_q_gemm),
    row("QLinearAdd", rewrite_ms_qlinear_add),
    row("QLinearAveragePool", rewrite_ms_qlinear_average_pool),
    row("QLinearConcat", rewrite_ms_qlinear_concat),
    row("QLinearConv", rewrite_ms_qlinear_conv),
    row("QLinearGlobalAveragePool", rewrite_ms_qlinear_global_average_pool),
    row("QLinearLeakyRelu", rewrite_ms_qlinear_leaky_relu),
    row("QLinearMul", rewrite_ms_qlinear_mul),
    row("QLinearReduceMean", rewrite_ms_qlinear_reduce_mean),
    row("QLinearSigmoid", rewrite_ms_qlinear_sigmoid),
    row("QLinearSoftmax", rewrite_ms_qlinear_softmax),
    row("QLinearWhere", rewrite_ms_qlinear_where),
    same("QuantizeLinear", OpKind::kQuantizeLinear),
    row("QuickGelu", rewrite_ms_quick_gelu),
    row("RotaryEmbedding", rewrite_ms_rotary_embedding),
    row("SimplifiedLayerNormalization", rewrite_ms_simplified_layer_normalization),
    row("SkipLayerNormalization", rewrite_ms_skip_layer_normalization),
    row("SkipSimplifiedLayerNormalization", rewrite_ms_skip_simplified_layer_normalization),
    row("TransposeMatMul", rewrite_ms_fused_matmul),
    same("Trilu", OpKind::kTrilu),
    row("Unique", rewrite_ms_unique),
};
static_assert(std::ranges::is_sorted(kRules, {}, &RuleRow::op_type));

}  // namespace

std::span<const RuleRow> microsoft_rules() { return kRules; }

}  // namespace parallax
