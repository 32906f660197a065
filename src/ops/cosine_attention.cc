// CosineAttention: Softmax(scale * cosines of Q and K + bias + mask) V for windows of tokens, the
// softmax along the keys. The heads of a token lie side by side, as products with weights give
// them.
#include "ops/common.h"
#include "ops/params/attention.h"

namespace parallax {

namespace {

constexpr std::size_t kScale = 3, kBias = 4, kMask = 5;

/// True where input i is left out or has exactly this shape.
bool fits(const InferContext& context, std::size_t i, const Shape& wanted) {
  if (!context.has(i)) return true;
  const Shape& shape = context.inputs[i].shape;
  if (shape.size() != wanted.size()) return false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!unify(shape[d], wanted[d])) return false;
  }
  return true;
}

/// The window of batch b has mask b % masks, so that these must go into the batches.
Status check_mask(const InferContext& context, const Shape& q, const Shape& k) {
  if (!context.has(kMask)) return {};
  const Shape& mask = context.inputs[kMask].shape;
  if (mask.size() != 3 || !fits(context, kMask, {mask[0], q[1], k[1]})) {
    return fail(context, "the mask must be [masks, queries, keys]");
  }
  const auto masks = mask[0].constant(), batches = q[0].constant();
  if (!masks || *masks < 1 || (batches && *batches % *masks != 0)) {
    return fail(context, "the number of masks does not divide the batches");
  }
  return {};
}

/// Q [batches, queries, heads, depth], K [batches, keys, heads, depth], V [batches, keys, heads,
/// width], scale [heads] and, where they are there, bias [heads, queries, keys] and mask [masks,
/// queries, keys] give [batches, queries, heads, width].
InferResult infer_cosine_attention(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kFloatTypes));
    if (i < kScale) PX_RETURN_IF_ERROR(expect_rank(context, i, 4));
  }
  const Shape& q = context.inputs[0].shape;
  const Shape& k = context.inputs[1].shape;
  const Shape& v = context.inputs[2].shape;
  if (!fits(context, 1, {q[0], k[1], q[2], q[3]}) || !fits(context, 2, {q[0], k[1], q[2], v[3]})) {
    return fail(context, "queries, keys and values do not go together");
  }
  if (!fits(context, kScale, {q[2]})) return fail(context, "there must be one scale per head");
  if (!fits(context, kBias, {q[2], q[1], k[1]})) {
    return fail(context, "the bias must be [heads, queries, keys]");
  }
  PX_RETURN_IF_ERROR(check_mask(context, q, k));
  return one_output(DType::kF32, Shape{q[0], q[1], q[2], v[3]});
}

/// Counts those of the two products.
std::int64_t macs_cosine_attention(const Node&, std::span<const Dims> inputs,
                                   std::span<const Dims> outputs) {
  if (inputs.size() < 3 || outputs.empty()) return 0;
  const Dims& q = inputs[0];
  const Dims& v = inputs[2];
  if (q.rank() != 4 || v.rank() != 4) return 0;
  const auto both = checked_add(q[3], v[3]);
  const std::int64_t pairs = saturating_mul(saturating_mul(q[0], q[2]), saturating_mul(q[1], v[1]));
  return saturating_mul(pairs, both.value_or(q[3]));
}

}  // namespace

const OpDef& op_def_CosineAttention() {
  static const OpDef def = [] {
    OpDef d(OpKind::kCosineAttention, whole_tensors(WorkKind::kAttention, ConformanceForm::kOwn));
    d.min_inputs = 4;
    d.max_inputs = 6;
    d.internal = true;
    d.attributes = attributes_of<CosineAttentionParams>();
    d.infer = infer_cosine_attention;
    d.macs = macs_cosine_attention;
    return d;
  }();
  return def;
}

}  // namespace parallax
