// Attention, as models have it, and RotaryEmbedding.
#include "ops/scaled_attention.h"

#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/attention.h"

namespace parallax {

namespace {

using AttIn = AttentionInput;

template <class Params>
Status check_range(const InferContext& context, const Params& params, std::int64_t Params::*member,
                   std::int64_t low, std::int64_t high) {
  const std::int64_t value = params.*member;
  if (value >= low && value <= high) return {};
  return refuse(context.node, fmt::format("{} may not be {}", param_name(member), value));
}

constexpr std::int64_t kMaxHeads = std::int64_t{1} << 31;

/// Errors: kInvalidModel for what the standard does not allow.
Result<AttentionParams> attention_params(const InferContext& context) {
  using Params = AttentionParams;
  PX_ASSIGN(const auto params, read_params<Params>(context));
  const auto check = [&](std::int64_t Params::*member, std::int64_t low, std::int64_t high) {
    return check_range(context, params, member, low, high);
  };
  if (!(params.softcap >= 0)) return refuse(context.node, "softcap must not be negative");
  PX_RETURN_IF_ERROR(check(&Params::left, -1, kMaxHeads));
  PX_RETURN_IF_ERROR(check(&Params::right, -1, kMaxHeads));
  PX_RETURN_IF_ERROR(check(&Params::scores_mode, 0, 3));
  PX_RETURN_IF_ERROR(check(&Params::q_heads, 0, kMaxHeads));
  PX_RETURN_IF_ERROR(check(&Params::kv_heads, 0, kMaxHeads));
  if (!contains(kFloatTypes, params.softmax_precision))
    return refuse(context.node, "softmax_precision must be a type of floats");
  return params;
}

/// Input i as [batch, heads, length, size]; it may be written [batch, length, heads * size].
Result<Shape> with_heads(const InferContext& context, std::size_t i, std::int64_t heads) {
  const Shape& shape = context.inputs[i].shape;
  if (shape.size() == 4) {
    if (heads != 0 && !unify(shape[1], Expr(heads)))
      return fail(context, fmt::format("input {} has another number of heads", i));
    return shape;
  }
  if (shape.size() != 3) return fail(context, fmt::format("input {} must have rank 3 or 4", i));
  if (heads == 0) return fail(context, "the number of heads is missing");
  const auto width = shape[2].constant();
  if (width && *width % heads != 0)
    return fail(context, fmt::format("input {} has no whole number of heads", i));
  return Shape{shape[0], Expr(heads), shape[1], floor_div(shape[2], Expr(heads))};
}

struct AttentionShapes {
  Shape q, k, v;  ///< [batch, heads, length, size], keys and values without past ones
  Expr past = 0;
};

Status check_attention_types(const InferContext& context) {
  for (const std::size_t i : {AttIn::kQ, AttIn::kK, AttIn::kV, AttIn::kPastKey, AttIn::kPastValue})
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kFloatTypes));
  PX_RETURN_IF_ERROR(expect_same_dtype(context, AttIn::kK));
  PX_RETURN_IF_ERROR(expect_same_dtype(context, AttIn::kPastKey));
  PX_RETURN_IF_ERROR(expect_dtype(context, AttIn::kLengths, kI64Types));
  PX_RETURN_IF_ERROR(expect_dtype(context, AttIn::kMask, kAllTypes));
  const bool past = context.has(AttIn::kPastValue);
  if (past && context.inputs[AttIn::kPastValue].dtype != context.inputs[AttIn::kV].dtype)
    return fail(context, "past values have another type than values");
  if (context.has(AttIn::kPastKey) != past)
    return fail(context, "past keys and values must come together");
  if (past && context.has(AttIn::kLengths))
    return fail(context, "lengths do not go with past keys and values");
  return {};
}

/// Two shapes that agree in all axes but `except`.
bool agree(const Shape& a, const Shape& b, std::size_t except) {
  if (a.size() != b.size()) return false;
  for (std::size_t axis = 0; axis < a.size(); ++axis)
    if (axis != except && !unify(a[axis], b[axis])) return false;
  return true;
}

Result<AttentionShapes> attention_shapes(const InferContext& context,
                                         const AttentionParams& params) {
  AttentionShapes s;
  PX_ASSIGN(s.q, with_heads(context, AttIn::kQ, params.q_heads));
  PX_ASSIGN(s.k, with_heads(context, AttIn::kK, params.kv_heads));
  PX_ASSIGN(s.v, with_heads(context, AttIn::kV, params.kv_heads));
  if (context.inputs[AttIn::kQ].shape.size() != context.inputs[AttIn::kK].shape.size() ||
      context.inputs[AttIn::kQ].shape.size() != context.inputs[AttIn::kV].shape.size())
    return fail(context, "queries, keys and values must have the same rank");
  if (!agree(s.k, s.v, 3)) return fail(context, "keys and values differ in number");
  if (!unify(s.q[0], s.k[0]) || !unify(s.q[3], s.k[3]))
    return fail(context, "queries and keys do not go together");
  const auto q_heads = s.q[1].constant(), kv_heads = s.k[1].constant();
  if (kv_heads && ((*kv_heads == 0 && q_heads.value_or(0) != 0) ||
                   (*kv_heads > 0 && q_heads.value_or(0) % *kv_heads != 0)))
    return fail(context, "heads of queries are not a multiple of those of keys");
  if (!context.has(AttIn::kPastKey)) return s;
  const Shape& past_key = context.inputs[AttIn::kPastKey].shape;
  const Shape& past_value = context.inputs[AttIn::kPastValue].shape;
  if (!agree(past_key, s.k, 2) || !agree(past_value, s.v, 2) || !unify(past_key[2], past_value[2]))
    return fail(context, "past keys and values do not go with the new ones");
  s.past = past_key[2];
  return s;
}

/// The mask broadcasts to the scores; its last axis may be shorter.
Status check_attention_mask(const InferContext& context, const Shape& scores) {
  if (!context.has(AttIn::kMask)) return {};
  const Shape& mask = context.inputs[AttIn::kMask].shape;
  if (mask.size() > scores.size() || mask.empty())
    return fail(context, "the mask must have 1 to 4 axes");
  for (std::size_t back = 2; back <= mask.size(); ++back) {
    const Expr& dim = mask[mask.size() - back];
    if (dim == Expr(1) || unify(dim, scores[scores.size() - back])) continue;
    return fail(context, "the mask does not broadcast to the scores");
  }
  if (is_negative(scores.back() - mask.back()))
    return fail(context, "the mask is longer than there are keys");
  return {};
}

InferResult infer_scaled_attention(const InferContext& context) {
  PX_RETURN_IF_ERROR(check_attention_types(context));
  PX_ASSIGN(const auto params, attention_params(context));
  PX_ASSIGN(const AttentionShapes s, attention_shapes(context, params));
  const Expr keys = s.past + s.k[2];
  const Shape scores = {s.q[0], s.q[1], s.q[2], keys};
  PX_RETURN_IF_ERROR(check_attention_mask(context, scores));
  PX_RETURN_IF_ERROR(expect_rank(context, AttIn::kLengths, 1));
  if (context.has(AttIn::kLengths) && !unify(context.inputs[AttIn::kLengths].shape[0], s.q[0]))
    return fail(context, "there must be a length for each batch");
  const bool packed = context.inputs[AttIn::kQ].shape.size() == 3;
  Shape y = packed ? Shape{s.q[0], s.q[2], s.q[1] * s.v[3]} : Shape{s.q[0], s.q[1], s.q[2], s.v[3]};
  const DType dtype = context.inputs[AttIn::kQ].dtype;
  std::vector<InferOutput> outputs = one_output(dtype, std::move(y));
  outputs.push_back({dtype, {s.k[0], s.k[1], keys, s.k[3]}, {}});
  outputs.push_back({context.inputs[AttIn::kV].dtype, {s.v[0], s.v[1], keys, s.v[3]}, {}});
  outputs.push_back({dtype, scores, {}});
  return outputs;
}

/// Counts those of the two products.
std::int64_t macs_scaled_attention(const Node& node, std::span<const Dims> inputs,
                                   std::span<const Dims> outputs) {
  if (inputs.size() < 3 || outputs.empty() || inputs[0].rank() < 3) return 0;
  const Dims& k = inputs[AttIn::kK];
  std::int64_t keys = k.rank() == 4 ? k[2] : k[1];
  if (inputs.size() > AttIn::kPastKey && inputs[AttIn::kPastKey].rank() == 4)
    keys = saturating_add(keys, inputs[AttIn::kPastKey][2]);
  (void)node;
  return saturating_mul(keys, saturating_add(saturating_elements(inputs[AttIn::kQ]),
                                             saturating_elements(outputs[0])));
}

/// X [batch, heads, length, size] or [batch, length, heads * size] stays as large.
InferResult infer_rotary(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  PX_RETURN_IF_ERROR(expect_same_dtype(context, 1));
  PX_RETURN_IF_ERROR(expect_same_dtype(context, 2));
  PX_RETURN_IF_ERROR(expect_dtype(context, 3, kI64Types));
  PX_ASSIGN(const auto params, read_params<RotaryEmbeddingParams>(context));
  const std::int64_t heads = params.num_heads;
  PX_RETURN_IF_ERROR(check_range(context, params, &RotaryEmbeddingParams::num_heads, 0, kMaxHeads));
  const bool packed = context.inputs[0].shape.size() == 3;
  // In a 4-D input heads are an axis, whatever is stated.
  PX_ASSIGN(const Shape x, with_heads(context, 0, packed ? heads : 0));
  const std::int64_t stated = params.rotary_embedding_dim;
  const Expr turned = stated == 0 ? x[3] : Expr(stated);
  if (stated < 0 || turned.constant().value_or(0) % 2 != 0 || is_negative(x[3] - turned))
    return fail(context, "an odd number of elements, or more than there are, cannot turn");
  const bool by_position = context.has(3);
  const Shape positions = {x[0], x[2]};
  if (by_position && !agree(context.inputs[3].shape, positions, 2))
    return fail(context, "there must be a position for each element of each sequence");
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    const Shape& cache = context.inputs[i].shape;
    PX_RETURN_IF_ERROR(expect_rank(context, i, by_position ? 2 : 3));
    if (!unify(cache.back(), floor_div(turned, Expr(2))))
      return fail(context, fmt::format("input {} must be half as wide as what turns", i));
    if (!by_position && (!unify(cache[0], x[0]) || !unify(cache[1], x[2])))
      return fail(context, fmt::format("input {} does not go with the sequences", i));
  }
  if (!unify(context.inputs[1].shape[0], context.inputs[2].shape[0]))
    return fail(context, "cosines and sines differ in number");
  return one_output(context.inputs[0].dtype, context.inputs[0].shape);
}

}  // namespace

const OpDef& op_def_Attention() {
  static const OpDef def = [] {
    OpDef d(OpKind::kAttention, {.work = WorkKind::kAttention,
                                 .flops = PaperFlops::kTwiceMacs,
                                 .nhwc = NhwcRule::kNone,
                                 .rows = RowRule::kNone,
                                 .form = ConformanceForm::kOwn});
    d.since = 23;
    d.min_inputs = 3;
    d.max_inputs = 7;
    d.max_outputs = 4;
    d.attributes = attributes_of<AttentionParams>();
    d.infer = infer_scaled_attention;
    d.macs = macs_scaled_attention;
    return d;
  }();
  return def;
}

const OpDef& op_def_RotaryEmbedding() {
  static const OpDef def = [] {
    OpDef d(OpKind::kRotaryEmbedding, whole_tensors(WorkKind::kElementwise, ConformanceForm::kOwn));
    d.since = 23;
    d.min_inputs = 3;
    d.max_inputs = 4;
    d.attributes = attributes_of<RotaryEmbeddingParams>();
    d.infer = infer_rotary;
    d.macs = macs_per_output;
    return d;
  }();
  return def;
}

}  // namespace parallax
