// Properties of Attention for inference and kernels. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ir/graph.h"
#include "parallax/result.h"

namespace parallax {

/// Inputs and outputs of Attention.
struct AttentionInput {
  static constexpr std::size_t kQ = 0, kK = 1, kV = 2, kMask = 3, kPastKey = 4, kPastValue = 5,
                               kLengths = 6;
};
struct AttentionOutput {
  static constexpr std::size_t kY = 0, kPresentKey = 1, kPresentValue = 2, kScores = 3;
};

/// The attributes of Attention as values.
struct AttentionSpec {
  bool causal = false;
  std::optional<float> scale;  ///< factor of scores; without one 1 / sqrt(depth)
  float softcap = 0;
  std::int64_t left = -1,
               right = -1;  ///< keys before and after a query's own that it sees; -1: all
  /// Contents of the output of scores: 0 products, 1 after the cap, 2 after the mask, 3 weights.
  std::int64_t scores_mode = 0;
  std::int64_t q_heads = 0, kv_heads = 0;  ///< 0: not stated
};
/// Errors: kInvalidModel, of what the standard does not allow.
Result<AttentionSpec> attention_spec(const Node& node);

}  // namespace parallax
