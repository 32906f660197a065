// Attributes of FusedAttention, an internal operator that lower/patterns/fuse_attention.cc makes of
// MatMul, Softmax and the operators between them, and that kernels read: Softmax(scale * Q K +
// mask) V, the softmax along the keys. Computes f32. Per head Q is [queries, depth], K [depth,
// keys], V [keys, width], the result [queries, width]; axes in front are batches, which broadcast.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// Inputs behind Q, K and V: the mask is added to scores; the choice, of bools, says which scores
/// become AttentionFill::value. Both may be left out, and broadcast to [.., queries, keys] without
/// making it larger.
inline constexpr std::size_t kAttentionMask = 3, kAttentionChoice = 4;

/// The Where that fills scores with a number. Read only if the node has input kAttentionChoice.
struct AttentionFill {
  /// The new value of chosen scores; often -inf or the lowest f32.
  float value = 0;
  /// The condition's value for chosen scores: models write Where(c, x, fill) as well as Where(c,
  /// fill, x).
  bool where = true;
  /// Scores are filled after the mask is added, not before. Matters if the node has both inputs.
  bool last = false;

  template <class Visitor>
  void visit(Visitor& v) {
    v("fill", value);
    v("fill_where", where);
    v("fill_last", last);
  }
};

/// The attributes of a node. A pass sets them once; the defaults are what a node without the
/// attribute means.
struct FusedAttentionParams {
  /// Axes in their new order, as Transpose has it; each in [-rank, rank), none twice, otherwise
  /// inference refuses the node with kInvalidModel.
  using Perm = std::vector<std::int64_t>;

  /// Factor of the products of Q and K, before mask and choice.
  float scale = 1;
  /// Heads of Q, neighbours in the third axis from behind, that share one of K and V. At least 1;
  /// if greater, all three have rank 3 or more, and Q has `group` times the heads of K and V.
  std::int64_t group = 1;
  /// Weights that are NaN count as 0: models write it for rows whose scores are all -inf.
  bool nan_is_zero = false;
  /// Its attributes lie among the node's as fill, fill_where and fill_last.
  AttentionFill fill;
  /// The operand is Transpose(input, perm), the output Transpose(result, y_perm); an empty
  /// permutation changes no axis.
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

/// The permutations of inputs Q, K and V, in that order: params.*kAttentionPerms[i] is that of
/// input i.
inline constexpr std::array kAttentionPerms = {
    &FusedAttentionParams::q_perm, &FusedAttentionParams::k_perm, &FusedAttentionParams::v_perm};

}  // namespace parallax
