// LinearAttention and CausalConvWithState: operators that carry a state from run to run.
#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/attention.h"

namespace parallax {

namespace {

/// Decay and update rates are there exactly where the rule reads them.
Status check_params(const InferContext& context, const LinearAttentionParams& params) {
  if (params.kv_heads < 1 || params.q_heads < params.kv_heads ||
      params.q_heads % params.kv_heads != 0)
    return fail(context, "heads of queries must be a multiple of those of keys and values");
  if (context.has(4) != params.gated())
    return fail(context, "decay goes with the gated rules alone");
  if (context.has(5) != params.corrected())
    return fail(context, "beta goes with the delta rules alone");
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
  PX_ASSIGN(const auto params, read_params<LinearAttentionParams>(context));
  PX_RETURN_IF_ERROR(check_params(context, params));
  const Shape& q = context.inputs[0].shape;
  PX_ASSIGN(const Expr depth, head_part(context, q[2], params.q_heads));
  PX_ASSIGN(const Expr width, head_part(context, context.inputs[2].shape[2], params.kv_heads));
  const Expr kv(params.kv_heads);
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
  std::vector<InferOutput> outputs = one_output(dtype, {q[0], q[1], Expr(params.q_heads) * width});
  outputs.push_back({context.has(3) ? context.inputs[3].dtype : dtype, state, {}});
  return outputs;
}

/// Each step reads and writes the state of its head.
std::int64_t macs_linear_attention(const Node& node, std::span<const Dims> inputs,
                                   std::span<const Dims> outputs) {
  if (inputs.size() < 3 || outputs.empty() || inputs[0].rank() != 3) return 0;
  const std::int64_t heads = params_of<LinearAttentionParams>(node).q_heads;
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
    OpDef d(OpKind::kLinearAttention, {.work = WorkKind::kAttention,
                                       .flops = PaperFlops::kTwiceMacs,
                                       .nhwc = NhwcRule::kNone,
                                       .rows = RowRule::kNone,
                                       .form = ConformanceForm::kOwn});
    d.since = 27;
    d.min_inputs = 3;
    d.max_inputs = 6;
    d.max_outputs = 2;
    d.attributes = attributes_of<LinearAttentionParams>();
    d.infer = infer_linear_attention;
    d.macs = macs_linear_attention;
    return d;
  }();
  return def;
}

const OpDef& op_def_CausalConvWithState() {
  static const OpDef def = [] {
    OpDef d(OpKind::kCausalConvWithState,
            whole_tensors(WorkKind::kConvolution, ConformanceForm::kOwn));
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
