// Convolution in one, two, three or more spatial dimensions.
#include <fmt/core.h>

#include "ops/params/quantised.h"
#include "ops/quantised.h"
#include "ops/window.h"

namespace parallax {

namespace {

Status check_bias(const InferContext& context, std::size_t bias) {
  PX_RETURN_IF_ERROR(expect_rank(context, bias, 1));
  if (!context.has(bias) || unify(context.inputs[bias].shape[0], context.inputs[1].shape[0]))
    return {};
  return fail(context, "the bias must have one element per filter");
}

Status check_channels(const InferContext& context, std::int64_t group, const Expr& channels) {
  if (group < 1) return fail(context, fmt::format("group {} is not positive", group));
  const Shape& weight = context.inputs[1].shape;
  if (!unify(weight[1] * Expr(group), channels)) {
    return fail(context, fmt::format("weight and group {} do not match the channels", group));
  }
  const auto filters = weight[0].constant();
  if (filters && *filters % group != 0) {
    return fail(context, fmt::format("{} filters are not a multiple of group {}", *filters, group));
  }
  return {};
}

/// The shape of the result.
Result<Shape> convolved_shape(const InferContext& context) {
  PX_ASSIGN(ImageShape image, image_shape(context));
  PX_RETURN_IF_ERROR(expect_rank(context, 1, rank_of(context.inputs[0])));
  const std::size_t axes = image.spatial.size();
  PX_ASSIGN(ConvParams params, read_params<ConvParams>(context));
  PX_RETURN_IF_ERROR(complete_windows(context, axes, params));
  PX_ASSIGN(const auto kernel, weight_kernel(context, params.kernel_shape, axes));
  PX_RETURN_IF_ERROR(check_channels(context, params.group, image.channels));
  image.channels = context.inputs[1].shape[0];
  for (std::size_t i = 0; i < axes; ++i) {
    PX_ASSIGN(image.spatial[i],
              window_count(context, params, i, image.spatial[i], kernel[i], false));
  }
  return join_shape(context, image);
}

InferResult infer_conv(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kFloatTypes));
  }
  PX_ASSIGN(Shape shape, convolved_shape(context));
  PX_RETURN_IF_ERROR(check_bias(context, 2));
  if (context.has(kConvResidual) && !same_shape(context.inputs[kConvResidual].shape, shape))
    return fail(context, "the residual must have the shape of the result");
  return one_output(context.inputs[0].dtype, std::move(shape));
}

/// One zero point for all of W, or one for each filter.
Status check_filter_scale(const InferContext& context, std::size_t i) {
  if (!context.has(i) || context.inputs[i].shape.empty()) return {};
  PX_RETURN_IF_ERROR(expect_rank(context, i, 1));
  const Expr& count = context.inputs[i].shape[0];
  if (count == Expr(1) || unify(count, context.inputs[1].shape[0])) return {};
  return fail(context, fmt::format("input {} must have one element, or one per filter", i));
}

InferResult infer_conv_integer(const InferContext& context) {
  PX_ASSIGN(const DType result, integer_product_type(context));
  PX_ASSIGN(Shape shape, convolved_shape(context));
  PX_RETURN_IF_ERROR(check_filter_scale(context, kProductWZero));
  PX_RETURN_IF_ERROR(check_filter_scale(context, kProductWScale));
  PX_RETURN_IF_ERROR(expect_one_element(context, kProductXZero));
  PX_RETURN_IF_ERROR(expect_one_element(context, kProductXScale));
  PX_RETURN_IF_ERROR(check_bias(context, kProductBias));
  return one_output(result, std::move(shape));
}

/// Each output element takes one filter: C / group times the kernel's elements.
std::int64_t macs_conv(const Node&, std::span<const Dims> inputs, std::span<const Dims> outputs) {
  if (inputs.size() < 2 || outputs.empty()) return 0;
  std::int64_t macs = saturating_elements(outputs[0]);
  for (int i = 1; i < inputs[1].rank(); ++i) macs = saturating_mul(macs, inputs[1][i]);
  return macs;
}

OpDef convolution(OpKind kind, const OpTraits& traits, InferResult (*infer)(const InferContext&)) {
  OpDef d(kind, traits);
  d.min_inputs = 2;
  d.max_inputs = 3;
  d.attributes = attributes_of<ConvParams>();
  d.epilogue = true;
  d.infer = infer;
  d.macs = macs_conv;
  return d;
}

}  // namespace

const OpDef& op_def_Conv() {
  static const OpDef def = [] {
    OpDef d = convolution(OpKind::kConv,
                          {.work = WorkKind::kConvolution,
                           .flops = PaperFlops::kConvolution,
                           .nhwc = NhwcRule::kWindow,
                           .rows = RowRule::kWindow,
                           .form = ConformanceForm::kOwn},
                          infer_conv);
    d.max_inputs = kConvResidual + 1;
    d.internal_inputs = 1;
    return d;
  }();
  return def;
}

const OpDef& op_def_ConvInteger() {
  static const OpDef def = [] {
    OpDef d = since(10, convolution(OpKind::kConvInteger,
                                    {.work = WorkKind::kConvolution,
                                     .flops = PaperFlops::kNone,
                                     .nhwc = NhwcRule::kWindow,
                                     .rows = RowRule::kNone,
                                     .form = ConformanceForm::kOwn},
                                    infer_conv_integer));
    d.max_inputs = kProductInputs;
    d.internal_inputs = kProductInputs - kProductXScale;
    d.attributes = attributes_of<ConvIntegerParams>();
    return d;
  }();
  return def;
}

}  // namespace parallax
