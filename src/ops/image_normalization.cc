// LRN, InstanceNormalization and GroupNormalization of images [batch, channels, ...].
#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/normalization.h"

namespace parallax {

namespace {

InferResult infer_lrn(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  const InferInput& x = context.inputs[0];
  if (x.shape.size() < 2) return fail(context, "input 0 must have a channel axis");
  PX_ASSIGN(const auto params, read_params<LrnParams>(context));
  const std::int64_t size = params.size;
  if (size < 1) return fail(context, fmt::format("size must be positive, is {}", size));
  return one_output(x.dtype, x.shape);
}

/// Scale and bias, inputs 1 and 2, have one element for each channel, or for each of `groups`.
Status check_scale_and_bias(const InferContext& context, const Expr& groups) {
  for (std::size_t i = 1; i <= 2; ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kFloatTypes));
    PX_RETURN_IF_ERROR(expect_same_dtype(context, i));
    PX_RETURN_IF_ERROR(expect_rank(context, i, 1));
    const Expr& count = context.inputs[i].shape[0];
    if (unify(count, context.inputs[0].shape[1]) || unify(count, groups)) continue;
    return fail(context, fmt::format("input {} must have one element per channel", i));
  }
  return {};
}

InferResult infer_instance_normalization(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  const InferInput& x = context.inputs[0];
  if (x.shape.size() < 3) return fail(context, "input 0 must have rank 3 or more");
  PX_RETURN_IF_ERROR(check_scale_and_bias(context, x.shape[1]));
  return one_output(x.dtype, x.shape);
}

/// Operator set 18 has scale and bias per group, the newest has them per channel: their length
/// tells, and where both are as many, both mean the same.
InferResult infer_group_normalization(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  const InferInput& x = context.inputs[0];
  if (x.shape.size() < 2) return fail(context, "input 0 must have a channel axis");
  PX_ASSIGN(const auto params, read_params<GroupNormalizationParams>(context));
  const std::int64_t groups = params.num_groups;
  if (groups < 1) return fail(context, fmt::format("num_groups {} is not positive", groups));
  if (x.shape[1].constant().value_or(0) % groups != 0) {
    return fail(context, fmt::format("the channels are not a multiple of num_groups {}", groups));
  }
  PX_RETURN_IF_ERROR(check_scale_and_bias(context, Expr(groups)));
  return one_output(x.dtype, x.shape);
}

}  // namespace

/// x / (bias + alpha / size * sum of the squares of `size` neighbouring channels)^beta.
const OpDef& op_def_LRN() {
  static const OpDef def = [] {
    OpDef d(OpKind::kLRN, {.work = WorkKind::kNormalization,
                           .flops = PaperFlops::kOutputs,
                           .nhwc = NhwcRule::kNone,
                           .rows = RowRule::kNone,
                           .form = ConformanceForm::kOwn});
    d.attributes = attributes_of<LrnParams>();
    d.infer = infer_lrn;
    d.macs = macs_per_input;
    return d;
  }();
  return def;
}

const OpDef& op_def_InstanceNormalization() {
  static const OpDef def = [] {
    OpDef d(OpKind::kInstanceNormalization, {.work = WorkKind::kNormalization,
                                             .flops = PaperFlops::kOutputs,
                                             .nhwc = NhwcRule::kNone,
                                             .rows = RowRule::kNone,
                                             .form = ConformanceForm::kOwn});
    d.min_inputs = 3;
    d.max_inputs = 3;
    d.attributes = attributes_of<InstanceNormalizationParams>();
    d.infer = infer_instance_normalization;
    d.macs = macs_per_input;
    return d;
  }();
  return def;
}

const OpDef& op_def_GroupNormalization() {
  static const OpDef def = [] {
    OpDef d(OpKind::kGroupNormalization, {.work = WorkKind::kNormalization,
                                          .flops = PaperFlops::kOutputs,
                                          .nhwc = NhwcRule::kNone,
                                          .rows = RowRule::kNone,
                                          .form = ConformanceForm::kOwn});
    d.since = 18;
    d.min_inputs = 3;
    d.max_inputs = 3;
    d.attributes = attributes_of<GroupNormalizationParams>();
    d.infer = infer_group_normalization;
    d.macs = macs_per_input;
    return d;
  }();
  return def;
}

}  // namespace parallax
