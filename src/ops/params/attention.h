// Attributes of attentions, RotaryEmbedding and CausalConvWithState. Inference
// (ops/scaled_attention.cc, linear_attention.cc, cosine_attention.cc) checks the ranges that the
// members state; kernels read the structs without checks. Errors of these checks are kInvalidModel
// and name the attribute.
//
// Sizes: "size" or "depth" is the number of elements of a row of Q and K of one head, "width" that
// of V.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// Attention (since operator set 23): softmax(cap(scale Q K') + mask) V for each head. Q, K and V
/// are [batch, heads, length, size], or packed: [batch, length, heads * size]. Inputs and outputs
/// are numbered in ops/scaled_attention.h.
struct AttentionParams {
  /// ONNX `is_causal`: a query sees its own position and those before it. The positions of queries
  /// follow the past keys; if lengths of sequences are given, the queries are the last positions of
  /// these.
  bool causal = false;
  /// ONNX `scale`: factor of the scores. Absent: 1 / sqrt(depth).
  std::optional<float> scale;
  /// ONNX `softcap`: a score s becomes softcap * tanh(s / softcap) before the mask is added. 0:
  /// scores stay as they are. Negative numbers and NaN are refused.
  float softcap = 0;
  /// ONNX `left_window_size` and `right_window_size`: the numbers of keys before and after a
  /// query's own position that it sees, in [-1, 2^31]. -1: all. Both hold in addition to `causal`.
  std::int64_t left = -1, right = -1;
  /// ONNX `q_num_heads` and `kv_num_heads`, in [0, 2^31]; 0: not stated. Packed tensors need them;
  /// other tensors must have as many heads if they are stated. The heads of Q are a multiple of
  /// those of K and V: neighbouring heads of Q share one.
  std::int64_t q_heads = 0, kv_heads = 0;
  /// ONNX `qk_matmul_output_mode`: contents of the output of scores, in [0, 3]. 0: scaled products;
  /// 1: after the cap; 2: after the mask, causality and windows; 3: weights, after the softmax.
  std::int64_t scores_mode = 0;
  /// ONNX `softmax_precision`: the type that a softmax is to be computed in, one of kFloatTypes.
  /// Kernels do not read it: their precision is that of the library (the reference kernel has f64).
  DType softmax_precision = DType::kF32;

  template <class Visitor>
  void visit(Visitor& v) {
    v("is_causal", causal);
    v("kv_num_heads", kv_heads);
    v("left_window_size", left);
    v("q_num_heads", q_heads);
    v("qk_matmul_output_mode", scores_mode);
    v("right_window_size", right);
    v("scale", scale);
    v("softcap", softcap);
    v("softmax_precision", softmax_precision);
  }
};

/// How one step changes the state S [depth, width] of a head, given its key k, value v, decay g and
/// rate b. kLinear: S += k v'. kGated: the rows of S are multiplied by exp(g) before. kDelta: S +=
/// k (b (v - S' k))'. kGatedDelta: both. g has a number for each head or for each row; b one for
/// each head or one for all. The result of the step is scale * S' q.
enum class UpdateRule : std::uint8_t { kLinear, kGated, kDelta, kGatedDelta };
template <>
inline constexpr std::array<std::string_view, 4> kChoices<UpdateRule> = {"linear", "gated", "delta",
                                                                         "gated_delta"};
/// LinearAttention (since operator set 27). Q [batch, steps, q heads * depth], K [batch, steps, kv
/// heads * depth], V [batch, steps, kv heads * width]; inputs 3, 4 and 5 are the past state [batch,
/// kv heads, depth, width], decays and rates. Decays must be given exactly if gated(), rates
/// exactly if corrected().
struct LinearAttentionParams {
  /// ONNX `chunk_size`: steps that a kernel may compute together. A hint that changes no results
  /// and that kernels here do not read.
  std::int64_t chunk_size = 64;
  /// ONNX `q_num_heads` and `kv_num_heads`: required. kv_heads is at least 1, q_heads a multiple of
  /// it; consecutive heads of Q read the state of one head of K and V.
  std::int64_t q_heads = 0, kv_heads = 0;
  /// ONNX `scale`: factor of results. 0: 1 / sqrt(depth).
  float scale = 0;
  /// ONNX `update_rule`. Another string than the four is refused with kUnsupported.
  UpdateRule rule = UpdateRule::kGatedDelta;

  template <class Visitor>
  void visit(Visitor& v) {
    v("chunk_size", chunk_size);
    v("kv_num_heads", kv_heads);
    v("q_num_heads", q_heads);
    v("scale", scale);
    v("update_rule", rule);
  }

  /// Whether the rule reads decays, input 4.
  bool gated() const { return rule == UpdateRule::kGated || rule == UpdateRule::kGatedDelta; }
  /// Whether the rule reads rates of updates, input 5.
  bool corrected() const { return rule == UpdateRule::kDelta || rule == UpdateRule::kGatedDelta; }
};

/// CosineAttention, which lower/patterns/fuse_cosine_attention.cc makes of the operators of a
/// SwinV2: softmax(scale * cosines of Q and K + bias + mask) V. Cosines are of vectors divided by
/// their length, or by epsilon if that is greater. Q, K and V are [batches, tokens, heads, size],
/// the scale [heads].
struct CosineAttentionParams {
  /// Least divisor of a vector. 0: a vector of zeros has cosines that are NaN.
  float epsilon = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    v("epsilon", epsilon);
  }
};

/// RotaryEmbedding (since operator set 23): turns pairs of elements of each row by the angle of its
/// position. X is [batch, heads, length, size] or packed; inputs 1 and 2 are cosines and sines,
/// half as wide as the part that turns: [positions, half] if positions are given as input 3, else
/// [batch, length, half]. A position outside the cache is kOutOfRange during the run.
struct RotaryEmbeddingParams {
  /// ONNX `interleaved`: pairs are neighbours, elements 2i and 2i + 1. Otherwise they are i and i +
  /// half.
  bool interleaved = false;
  /// ONNX `num_heads`, in [0, 2^31]: heads of a packed input, which must state it; ignored for an
  /// input of rank 4. 0: not stated.
  std::int64_t num_heads = 0;
  /// ONNX `rotary_embedding_dim`: elements at the beginning of a row that turn; the rest is copied.
  /// Even, and at most the size. 0: all.
  std::int64_t rotary_embedding_dim = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    v("interleaved", interleaved);
    v("num_heads", num_heads);
    v("rotary_embedding_dim", rotary_embedding_dim);
  }
};

/// The function of CausalConvWithState's results. kSilu and kSwish are two names of x Sigmoid(x).
enum class ConvActivation : std::uint8_t { kNone, kSilu, kSwish };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<ConvActivation> = {"none", "silu",
                                                                             "swish"};
/// CausalConvWithState (since operator set 27): X [batch, channels, n] with one filter for each
/// channel, [channels, 1, taps], over the element and the taps - 1 before it. Those before the
/// first are the past state, input 3 [batch, channels, taps - 1], or zeros; output 1 is the state
/// for the next run.
struct CausalConvParams {
  /// ONNX `activation`. Another string than the three is refused with kUnsupported.
  ConvActivation activation = ConvActivation::kNone;

  template <class Visitor>
  void visit(Visitor& v) {
    v("activation", activation);
  }
};

}  // namespace parallax
