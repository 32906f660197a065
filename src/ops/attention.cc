// FusedAttention: Softmax(scale * Q K + mask) V, the softmax along the keys.
#include "ops/common.h"

namespace parallax {

namespace {

constexpr std::size_t kMask = 3;

Shape batch_of(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

/// The mask may not make the scores larger.
Status check_mask(const InferContext& context, const Shape& scores) {
  const Shape& mask = context.inputs[kMask].shape;
  if (mask.size() > scores.size()) return fail(context, "the mask has more axes than the scores");
  for (std::size_t back = 1; back <= mask.size(); ++back) {
    const Expr& dim = mask[mask.size() - back];
    if (dim == Expr(1) || unify(dim, scores[scores.size() - back])) continue;
    return fail(context, "the mask does not broadcast to the scores");
  }
  return {};
}

/// Q [.., queries, depth], K [.., depth, keys], V [.., keys, width] and, where there is one, a mask
/// that broadcasts to [.., queries, keys] give [.., queries, width].
InferResult infer_attention(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kFloatTypes));
    if (i < kMask && context.inputs[i].shape.size() < 2) {
      return fail(context, "queries, keys and values must be matrices");
    }
  }
  const Shape& q = context.inputs[0].shape;
  const Shape& k = context.inputs[1].shape;
  const Shape& v = context.inputs[2].shape;
  if (!unify(q.back(), k[k.size() - 2]) || !unify(k.back(), v[v.size() - 2])) {
    return fail(context, "inner dimensions differ");
  }
  PX_ASSIGN(const Shape scores, broadcast(batch_of(q), batch_of(k), context));
  PX_ASSIGN(Shape shape, broadcast(scores, batch_of(v), context));
  shape.push_back(q[q.size() - 2]);
  shape.push_back(k.back());
  if (context.has(kMask)) PX_RETURN_IF_ERROR(check_mask(context, shape));
  shape.back() = v.back();
  return one_output(DType::kF32, std::move(shape));
}

/// Of the two products.
std::int64_t macs_attention(const Node&, std::span<const Dims> inputs,
                            std::span<const Dims> outputs) {
  if (inputs.size() < 3 || outputs.empty()) return 0;
  const Dims& k = inputs[1];
  const Dims& v = inputs[2];
  if (k.rank() < 2 || v.rank() < 2) return 0;
  std::int64_t rows = 1;  // of all batches
  for (int axis = 0; axis + 1 < outputs[0].rank(); ++axis) {
    rows = saturating_mul(rows, outputs[0][axis]);
  }
  const std::int64_t depth = saturating_mul(k[k.rank() - 2], k[k.rank() - 1]);
  const std::int64_t width = saturating_mul(k[k.rank() - 1], v[v.rank() - 1]);
  const auto both = checked_add(depth, width);
  return both ? saturating_mul(rows, *both) : saturating_mul(depth, rows);
}

}  // namespace

const OpDef& op_def_FusedAttention() {
  static const OpDef def = [] {
    OpDef d;
    d.kind = OpKind::kFusedAttention;
    d.min_inputs = 3;
    d.max_inputs = 4;
    d.internal = true;
    d.attributes = {{"scale", AttributeType::kFloat}};
    d.infer = infer_attention;
    d.macs = macs_attention;
    return d;
  }();
  return def;
}

}  // namespace parallax
