// Attributes of FusedAttention, which passes write and kernels read.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// Inputs: the mask is added to scores, the choice, of bools, says which of them are another
/// number.
inline constexpr std::size_t kAttentionMask = 3, kAttentionChoice = 4;

/// The Where that fills scores with a number.
struct AttentionFill {
  float value = 0;    ///< the new value of chosen scores
  bool where = true;  ///< the condition's value for chosen scores
  bool last = false;  ///< applied after the mask is added, not before

  template <class Visitor>
  void visit(Visitor& v) {
    v("fill", value);
    v("fill_where", where);
    v("fill_last", last);
  }
};

struct FusedAttentionParams {
  using Perm = std::vector<std::int64_t>;

  float scale = 1;
  std::int64_t group = 1;    ///< heads of Q, neighbours in the third axis from behind, that share
                             ///< one of K and V
  bool nan_is_zero = false;  ///< weights that are NaN count as 0
  AttentionFill fill;
  /// The operand is Transpose(input, perm), the output Transpose(result, y_perm); an empty
  /// permutation changes nothing.
  Perm q_perm, k_perm, v_perm, y_perm;

  template <class Visitor>
  void visit(Visitor& v) {
    v("scale", scale);
    v("group", group);
    v("nan_is_zero", nan_is_zero);
    fill.visit(v);
    v("q_perm", q_perm);
    v("k_perm", k_perm);
    v("v_perm", v_perm);
    v("y_perm", y_perm);
  }
};

/// The permutations of inputs Q, K and V.
inline constexpr std::array kAttentionPerms = {
    &FusedAttentionParams::q_perm, &FusedAttentionParams::k_perm, &FusedAttentionParams::v_perm};

}  // namespace parallax
