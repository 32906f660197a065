// LinearAttention and CausalConvWithState: operators that carry a state from run to run.
#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/attention.h"

namespace parallax {

namespace {

struct LinearHeads {
  std::int64_t q = 1, kv = 1;
};

Result<LinearHeads> linear_heads(const InferContext& context) {
  const Attributes& attributes = context.node.attributes;
  const LinearHeads heads{attributes.get_int("q_num_heads", 0),
                          attributes.get_int("kv_num_heads", 0)};
  if (heads.kv < 1 || heads.q < heads.kv || heads.q % heads.kv != 0)
    return fail(context, "heads of queries must be a multiple of those of keys and values");
  return heads;
}

/// Decay and update rates are there exactly where the rule reads them.
Status check_rule(const InferContext& context) {
  const std::string rule = context.node.attributes.get_string("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    return fail(context, "update_rule must be linear, gated, delta or gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool corrected = rule == "delta" || rule == "gated_delta";
  if (context.has(4) != gated) return fail(context, "decay goes with the gated rules alone");
  if (context.has(5) != corrected) return fail(context, "beta goes with the delta rules alone");
  return {};
}

Result<Expr> head_part(const InferContext& context, const Expr& whole, std::int64_t heads) {
  const auto known = whole.constant();
  if (known && *known % heads != 0) return fail(context, "no whole number of heads");
  return floor_div(whole, Expr(heads));
}

/// Refuses input i where it certainly is not [batch, steps, one of `widths`].
Status expect_rate(const InferContext& context, std::size_t i, std::initializer_list<Expr> widths) {
  if (!context.has(i)) return {};
  PX_RETURN_IF_ERROR(expect_rank(context, i, 3));
  const Shape& shape = context.inputs[i].shape;
  const Shape& q = context.inputs[0].shape;
  bool fits = false;
  for (const Expr& width : widths) fits = fits || unify(shape[2], width).has_value();
  if (fits && unify(shape[0], q[0]) && unify(shape[1], q[1])) return {};
  return fail(context, fmt::format("input {} does not go with the queries", i));
}

/// Queries [batch, steps, q heads * depth], keys and values of kv heads give [batch, steps, q heads
/// * width] and the state [batch, kv heads, depth, width].
InferResult infer_linear_attention(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kFloatTypes));
    if (i != 3) PX_RETURN_IF_ERROR(expect_same_dtype(context, i));
    if (i < 3) PX_RETURN_IF_ERROR(expect_rank(context, i, 3));
  }
  PX_ASSIGN(const LinearHeads heads, linear_heads(context));
  PX_RETURN_IF_ERROR(check_rule(context));
  const Shape& q = context.inputs[0].shape;
  PX_ASSIGN(const Expr depth, head_part(context, q[2], heads.q));
  PX_ASSIGN(const Expr width, head_part(context, context.inputs[2].shape[2], heads.kv));
  const Expr kv(heads.kv);
  PX_RETURN_IF_ERROR(expect_rate(context, 1, {kv * depth}));
  PX_RETURN_IF_ERROR(expect_rate(context, 2, {kv * width}));
  PX_RETURN_IF_ERROR(expect_rate(context, 4, {kv, kv * depth}));
  PX_RETURN_IF_ERROR(expect_rate(context, 5, {kv, Expr(1)}));
  const Shape state = {q[0], kv, depth, width};
  PX_RETURN_IF_ERROR(expect_rank(context, 3, 4));
  for (std::size_t axis = 0; context.has(3) && axis < 4; ++axis)
    if (!unify(context.inputs[3].shape[axis], state[axis]))
      return fail(context, "the past state has another shape");
  const DType dtype = context.inputs[0].dtype;
  std::vector<InferOutput> outputs = one_output(dtype, {q[0], q[1], Expr(heads.q) * width});
  outputs.push_back({context.has(3) ? context.inputs[3].dtype : dtype, state, {}});
  return outputs;
}

/// Each step reads and writes the state of its head.
std::int64_t macs_linear_attention(const Node& node, std::span<const Dims> inputs,
                                   std::span<const Dims> outputs) {
  if (inputs.size() < 3 || outputs.empty() || inputs[0].rank() != 3) return 0;
  const std::int64_t heads = node.attributes.get_int("q_num_heads", 1);
  return saturating_mul(saturating_elements(outputs[0]),
                        saturating_mul(inputs[0][2] / std::max<std::int64_t>(heads, 1), 2));
}

/// [batch, channels, n], weights [channels, 1, taps] give [batch, channels, n] and the last taps -
/// 1 elements.
InferResult infer_causal_conv(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kFloatTypes));
    PX_RETURN_IF_ERROR(expect_same_dtype(context, i));
    PX_RETURN_IF_ERROR(expect_rank(context, i, i == 2 ? 1 : 3));
  }
  PX_RETURN_IF_ERROR(read_params<CausalConvParams>(context));
  const Shape& x = context.inputs[0].shape;
  const Shape& weights = context.inputs[1].shape;
  if (!unify(weights[0], x[1]) || !unify(weights[1], Expr(1)))
    return fail(context, "there must be one filter for each channel");
  if (weights[2].constant() == 0) return fail(context, "a filter must have taps");
  if (context.has(2) && !unify(context.inputs[2].shape[0], x[1]))
    return fail(context, "the bias must have one element for each channel");
  const Shape state = {x[0], x[1], weights[2] - Expr(1)};
  for (std::size_t axis = 0; context.has(3) && axis < 3; ++axis)
    if (!unify(context.inputs[3].shape[axis], state[axis]))
      return fail(context, "the past state has another shape");
  const DType dtype = context.inputs[0].dtype;
  std::vector<InferOutput> outputs = one_output(dtype, x);
  outputs.push_back({dtype, state, {}});
  return outputs;
}

std::int64_t macs_causal_conv(const Node&, std::span<const Dims> inputs,
                              std::span<const Dims> outputs) {
  if (inputs.size() < 2 || outputs.empty() || inputs[1].rank() != 3) return 0;
  return saturating_mul(saturating_elements(outputs[0]), inputs[1][2]);
}

}  // namespace

const OpDef& op_def_LinearAttention() {
  static const OpDef def = [] {
    OpDef d;
    d.kind = OpKind::kLinearAttention;
    d.since = 27;
    d.min_inputs = 3;
    d.max_inputs = 6;
    d.max_outputs = 2;
    d.attributes = {{"chunk_size", AttributeType::kInt},
                    {"kv_num_heads", AttributeType::kInt},
                    {"q_num_heads", AttributeType::kInt},
                    {"scale", AttributeType::kFloat},
                    {"update_rule", AttributeType::kString}};
    d.infer = infer_linear_attention;
    d.macs = macs_linear_attention;
    return d;
  }();
  return def;
}

const OpDef& op_def_CausalConvWithState() {
  static const OpDef def = [] {
    OpDef d;
    d.kind = OpKind::kCausalConvWithState;
    d.since = 27;
    d.min_inputs = 2;
    d.max_inputs = 4;
    d.max_outputs = 2;
    d.attributes = attributes_of<CausalConvParams>();
    d.infer = infer_causal_conv;
    d.macs = macs_causal_conv;
    return d;
  }();
  return def;
}

}  // namespace parallax
