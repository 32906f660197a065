// Attributes of attentions, RotaryEmbedding and CausalConvWithState.
#pragma once

#include "ops/params/params.h"

namespace parallax {

struct AttentionParams {
  bool causal = false;
  std::optional<float> scale;              ///< factor of scores; without one 1 / sqrt(depth)
  float softcap = 0;                       ///< 0: none
  std::int64_t left = -1, right = -1;      ///< keys before and after a query's own that it sees;
                                           ///< -1: all
  std::int64_t q_heads = 0, kv_heads = 0;  ///< 0: not stated
  /// Contents of the output of scores: 0 products, 1 after the cap, 2 after the mask, 3 weights.
  std::int64_t scores_mode = 0;
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

enum class UpdateRule : std::uint8_t { kLinear, kGated, kDelta, kGatedDelta };
template <>
inline constexpr std::array<std::string_view, 4> kChoices<UpdateRule> = {"linear", "gated", "delta",
                                                                         "gated_delta"};
struct LinearAttentionParams {
  std::int64_t chunk_size = 64;  ///< a hint that changes no results
  std::int64_t q_heads = 0, kv_heads = 0;
  float scale = 0;  ///< 0: 1 / sqrt(depth)
  UpdateRule rule = UpdateRule::kGatedDelta;

  template <class Visitor>
  void visit(Visitor& v) {
    v("chunk_size", chunk_size);
    v("kv_num_heads", kv_heads);
    v("q_num_heads", q_heads);
    v("scale", scale);
    v("update_rule", rule);
  }

  /// Whether the rule reads decays.
  bool gated() const { return rule == UpdateRule::kGated || rule == UpdateRule::kGatedDelta; }
  /// Whether the rule reads rates of updates.
  bool corrected() const { return rule == UpdateRule::kDelta || rule == UpdateRule::kGatedDelta; }
};

/// Cosines are of vectors divided by their length, or by epsilon if that is greater.
struct CosineAttentionParams {
  float epsilon = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    v("epsilon", epsilon);
  }
};

struct RotaryEmbeddingParams {
  bool interleaved = false;
  std::int64_t num_heads = 0;             ///< for a packed input; 0: not stated
  std::int64_t rotary_embedding_dim = 0;  ///< elements of a row that turn; 0: all

  template <class Visitor>
  void visit(Visitor& v) {
    v("interleaved", interleaved);
    v("num_heads", num_heads);
    v("rotary_embedding_dim", rotary_embedding_dim);
  }
};

enum class ConvActivation : std::uint8_t { kNone, kSilu, kSwish };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<ConvActivation> = {"none", "silu",
                                                                             "swish"};
/// CausalConvWithState.
struct CausalConvParams {
  ConvActivation activation = ConvActivation::kNone;

  template <class Visitor>
  void visit(Visitor& v) {
    v("activation", activation);
  }
};

}  // namespace parallax
