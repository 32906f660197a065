// Rules of com.microsoft (microsoft_*.cc). Each changes the node in place.
//
// Operators, attributes and defaults are those of ONNX Runtime's contrib operators. Attention is
// written as products and Softmax, which later passes may fuse. Errors: as normalize.h; in
// particular kUnsupported for attributes that a rule does not read.
#pragma once

#include "load/onnx/normalize/normalize.h"
#include "load/onnx/normalize/rewriting.h"

namespace parallax {

Status rewrite_ms_attention(FileNode& file);
Status rewrite_ms_bias_gelu(FileNode& file);
Status rewrite_ms_dynamic_lstm(FileNode& file);
Status rewrite_ms_dynamic_matmul(FileNode& file);
Status rewrite_ms_embed_layer_normalization(FileNode& file);
Status rewrite_ms_fast_gelu(FileNode& file);
Status rewrite_ms_fused_conv(FileNode& file);
Status rewrite_ms_fused_gemm(FileNode& file);
Status rewrite_ms_fused_matmul(FileNode& file);
Status rewrite_ms_grid_sample(FileNode& file);
Status rewrite_ms_group_query_attention(FileNode& file);
Status rewrite_ms_matmul_integer_to_float(FileNode& file);
Status rewrite_ms_multi_head_attention(FileNode& file);
Status rewrite_ms_nhwc_conv(FileNode& file);
Status rewrite_ms_nhwc_max_pool(FileNode& file);
Status rewrite_ms_pad(FileNode& file);
Status rewrite_ms_q_attention(FileNode& file);
Status rewrite_ms_q_gemm(FileNode& file);
Status rewrite_ms_qlinear_add(FileNode& file);
Status rewrite_ms_qlinear_average_pool(FileNode& file);
Status rewrite_ms_qlinear_concat(FileNode& file);
Status rewrite_ms_qlinear_conv(FileNode& file);
Status rewrite_ms_qlinear_global_average_pool(FileNode& file);
Status rewrite_ms_qlinear_leaky_relu(FileNode& file);
Status rewrite_ms_qlinear_mul(FileNode& file);
Status rewrite_ms_qlinear_reduce_mean(FileNode& file);
Status rewrite_ms_qlinear_sigmoid(FileNode& file);
Status rewrite_ms_qlinear_softmax(FileNode& file);
Status rewrite_ms_qlinear_where(FileNode& file);
Status rewrite_ms_quick_gelu(FileNode& file);
Status rewrite_ms_rotary_embedding(FileNode& file);
Status rewrite_ms_simplified_layer_normalization(FileNode& file);
Status rewrite_ms_skip_layer_normalization(FileNode& file);
Status rewrite_ms_skip_simplified_layer_normalization(FileNode& file);
Status rewrite_ms_unique(FileNode& file);

/// A node between Transposes that turn images of the layout NHWC into NCHW and back. Axes are moved
/// for any rank above 2: the last one to the second place, or back.
ValueId to_nchw(Rewriting& to, ValueId images);
ValueId to_nhwc(Rewriting& to, ValueId images);

/// The common form of all attention operators of com.microsoft. Heads are the second axis. The
/// number of heads of keys and values is that of queries: the caller repeats shared ones.
struct AttentionParts {
  ValueId query, key, value;         ///< [batch, heads, length, size]
  float scale = 0;                   ///< 0: 1 / sqrt(size)
  std::vector<ValueId> biases = {};  ///< added to the scores, which they may be broadcast to
  bool causal = false;
  /// How many keys stand before that of the first query, i64 that broadcasts to the scores; none:
  /// 0.
  ValueId past = {};
  std::int64_t window = -1;  ///< how many keys back a query sees; -1: all
  float softcap = 0;
};
/// The heads side by side: [batch, length, heads * size]. Scores are scaled, capped by softcap *
/// tanh(score / softcap) if `softcap` is above 0, then biases are added. Queries see later keys
/// unless `causal`; `window` counts only then.
ValueId write_attention(Rewriting& to, const AttentionParts& parts);
/// [batch, length, heads * size] as [batch, heads, length, size]. REQUIRES: `heads` divides the
/// last dimension.
ValueId split_heads(Rewriting& to, ValueId x, std::int64_t heads);
/// Returns the number that a mask of keys adds to the scores: `filter` if a key is masked. Masks
/// are [batch] (how many keys there are), [batch, keys] or [batch, queries, keys] (0: masked).
ValueId mask_bias(Rewriting& to, ValueId mask, ValueId key, float filter);

}  // namespace parallax
