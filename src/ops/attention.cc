// FusedAttention: Softmax(scale * Q K + mask) V, the softmax along the keys; a choice may give some
// of the scores another value, and operands and result may be transposed on the way.
#include "ops/params/fused_attention.h"

#include <fmt/core.h>

#include "ops/common.h"

namespace parallax {

namespace {

Shape batch_of(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

/// Mask and choice may not make the scores larger.
Status check_mask(const InferContext& context, std::size_t i, const Shape& scores) {
  if (!context.has(i)) return {};
  const Shape& mask = context.inputs[i].shape;
  if (mask.size() > scores.size()) return fail(context, "the mask has more axes than the scores");
  for (std::size_t back = 1; back <= mask.size(); ++back) {
    const Expr& dim = mask[mask.size() - back];
    if (dim == Expr(1) || unify(dim, scores[scores.size() - back])) continue;
    return fail(context, "the mask does not broadcast to the scores");
  }
  return {};
}

/// Repeats the heads of keys or values as often as queries share them.
Status share_heads(const InferContext& context, std::int64_t group, const Shape& q, Shape& shared) {
  if (group == 1) return {};
  const std::size_t rank = shared.size();
  if (group < 1 || rank < 3 || q.size() < 3 || rank >= Dims::kMaxRank || q.size() >= Dims::kMaxRank)
    return fail(context, "there is no axis of heads to be shared");
  const Expr& heads = q[q.size() - 3];
  if (!unify(shared[rank - 3] * Expr(group), heads))
    return fail(context, "queries have another number of heads than share keys and values");
  shared[rank - 3] = heads;
  return {};
}

/// Q [.., queries, depth], K [.., depth, keys], V [.., keys, width] and, where they are there, a
/// mask and a choice that broadcast to [.., queries, keys] give [.., queries, width].
InferResult infer_attention(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, i == kAttentionChoice ? kBoolTypes : kFloatTypes));
    if (i < kAttentionMask && context.inputs[i].shape.size() < 2) {
      return fail(context, "queries, keys and values must be matrices");
    }
  }
  PX_ASSIGN(const auto params, read_params<FusedAttentionParams>(context));
  const auto operand = [&](std::size_t i) {
    return permuted_shape(context, param_name(kAttentionPerms[i]), params.*kAttentionPerms[i],
                          context.inputs[i].shape);
  };
  PX_ASSIGN(const Shape q, operand(0));
  PX_ASSIGN(Shape k, operand(1));
  PX_ASSIGN(Shape v, operand(2));
  if (!unify(q.back(), k[k.size() - 2]) || !unify(k.back(), v[v.size() - 2])) {
    return fail(context, "inner dimensions differ");
  }
  PX_RETURN_IF_ERROR(share_heads(context, params.group, q, k));
  PX_RETURN_IF_ERROR(share_heads(context, params.group, q, v));
  PX_ASSIGN(const Shape scores, broadcast(batch_of(q), batch_of(k), context));
  PX_ASSIGN(Shape shape, broadcast(scores, batch_of(v), context));
  shape.push_back(q[q.size() - 2]);
  shape.push_back(k.back());
  PX_RETURN_IF_ERROR(check_mask(context, kAttentionMask, shape));
  PX_RETURN_IF_ERROR(check_mask(context, kAttentionChoice, shape));
  shape.back() = v.back();
  PX_ASSIGN(shape, permuted_shape(context, param_name(&FusedAttentionParams::y_perm), params.y_perm,
                                  shape));
  return one_output(DType::kF32, std::move(shape));
}

/// Size of an operand's axis, counted from the end, after its permutation.
std::int64_t operand_dim(const FusedAttentionParams::Perm& perm, const Dims& dims, int back) {
  const int at = dims.rank() - back;
  if (at < 0 || perm.size() > Dims::kMaxRank) return 0;
  std::int64_t axis = at;
  if (static_cast<std::size_t>(at) < perm.size()) axis = perm[static_cast<std::size_t>(at)];
  if (axis < 0) axis += dims.rank();
  return axis < 0 || axis >= dims.rank() ? 0 : dims[static_cast<int>(axis)];
}

/// Counts those of the two products: one per key for each element of the result, and the depth of Q
/// for each score.
std::int64_t macs_attention(const Node& node, std::span<const Dims> inputs,
                            std::span<const Dims> outputs) {
  if (inputs.size() < 3 || outputs.empty()) return 0;
  const auto params = params_of<FusedAttentionParams>(node);
  const std::int64_t keys = operand_dim(params.k_perm, inputs[1], 1);
  const std::int64_t depth = operand_dim(params.k_perm, inputs[1], 2);
  const std::int64_t width = operand_dim(params.v_perm, inputs[2], 1);
  if (width == 0) return 0;
  const std::int64_t rows = saturating_elements(outputs[0]) / width;
  const auto both = checked_add(depth, width);
  const std::int64_t row = saturating_mul(keys, both.value_or(depth));
  return saturating_mul(rows, row);
}

}  // namespace

const OpDef& op_def_FusedAttention() {
  static const OpDef def = [] {
    OpDef d(OpKind::kFusedAttention, whole_tensors(WorkKind::kAttention, ConformanceForm::kOwn));
    d.min_inputs = 3;
    d.max_inputs = 5;
    d.internal = true;
    d.attributes = attributes_of<FusedAttentionParams>();
    d.infer = infer_attention;
    d.macs = macs_attention;
    return d;
  }();
  return def;
}

}  // namespace parallax
