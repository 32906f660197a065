// Attributes of CosineAttention, RotaryEmbedding and CausalConvWithState.
#pragma once

#include "ops/params/params.h"

namespace parallax {

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
  std::int64_t num_heads = 0;             ///< heads of a packed input; 0: not stated
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
