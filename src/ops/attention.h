// Attributes of FusedAttention that passes write and kernels read.
#pragma once

#include <array>
#include <string_view>

#include "ir/graph.h"

namespace parallax {

/// Attributes of inputs Q, K and V: the operand is Transpose(input, perm), or the input itself if
/// the attribute is absent.
inline constexpr std::array<std::string_view, 3> kAttentionPerms = {"q_perm", "k_perm", "v_perm"};
/// The output is Transpose(result, perm).
inline constexpr std::string_view kAttentionOutputPerm = "y_perm";

/// How many heads of Q, neighbours in the third axis from behind, share one of K and V. Absent: 1.
inline constexpr std::string_view kAttentionGroup = "group";

/// 1: weights that are NaN count as 0.
inline constexpr std::string_view kAttentionNanIsZero = "nan_is_zero";

/// Inputs: the mask is added to scores, the choice, of bools, says which of them are another
/// number.
inline constexpr std::size_t kAttentionMask = 3, kAttentionChoice = 4;
inline constexpr std::string_view kAttentionFill = "fill", kAttentionFillWhere = "fill_where",
                                  kAttentionFillLast = "fill_last";

/// The Where that fills scores with a number.
struct AttentionFill {
  float value = 0;    ///< the new value of chosen scores
  bool where = true;  ///< the condition's value for chosen scores
  bool last = false;  ///< applied after the mask is added, not before
};
inline AttentionFill attention_fill(const Attributes& attributes) {
  return {attributes.get_float(kAttentionFill, 0.0F),
          attributes.get_int(kAttentionFillWhere, 1) != 0,
          attributes.get_int(kAttentionFillLast, 0) != 0};
}

}  // namespace parallax
