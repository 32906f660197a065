// GridSample and DeformConv: an image read at computed places between its elements.
#include <fmt/core.h>

#include "ops/params/sampling.h"
#include "ops/window.h"

namespace parallax {

namespace {

/// Cubic interpolation reads 4 elements along each axis, 64 with three.
constexpr std::size_t kMaxSampledAxes = 3;

InferResult infer_grid_sample(const InferContext& context) {
  PX_RETURN_IF_ERROR(read_params<GridSampleParams>(context));
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kNumericTypes));
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kFloatTypes));
  const Shape& x = context.inputs[0].shape;
  const Shape& grid = context.inputs[1].shape;
  if (x.size() < 3) return fail(context, "input 0 must have rank 3 or more");
  const std::size_t axes = x.size() - 2;
  if (axes > kMaxSampledAxes) {
    return fail(context, "more than 3 spatial axes are not covered", ErrorCode::kUnsupported);
  }
  if (grid.size() != x.size() || !unify(grid[0], x[0]) ||
      !unify(grid.back(), Expr(static_cast<std::int64_t>(axes)))) {
    return fail(context, fmt::format("the grid must have {} coordinates for each place", axes));
  }
  Shape shape = {x[0], x[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  return one_output(context.inputs[0].dtype, std::move(shape));
}

/// Elements that an output is made of.
std::int64_t macs_grid_sample(const Node& node, std::span<const Dims> inputs,
                              std::span<const Dims> outputs) {
  if (inputs.empty() || outputs.empty()) return 0;
  std::int64_t macs = saturating_elements(outputs[0]);
  const int taps = params_of<GridSampleParams>(node).count();
  for (int axis = 2; axis < inputs[0].rank(); ++axis) macs = saturating_mul(macs, taps);
  return macs;
}

/// Offsets and masks have `per_tap` numbers for each tap of each group at each output.
Status check_field(const InferContext& context, std::size_t i, std::int64_t per_tap,
                   const DeformConvParams& params, std::span<const std::int64_t> kernel,
                   const Shape& result) {
  if (!context.has(i)) return {};
  PX_RETURN_IF_ERROR(expect_rank(context, i, static_cast<int>(result.size())));
  Expr wanted = Expr(params.offset_group) * Expr(per_tap);
  for (const std::int64_t size : kernel) wanted = wanted * Expr(size);
  const Shape& field = context.inputs[i].shape;
  bool fits = unify(field[0], result[0]) && unify(field[1], wanted);
  for (std::size_t d = 2; d < result.size() && fits; ++d)
    fits = unify(field[d], result[d]).has_value();
  if (!fits) return fail(context, fmt::format("input {} does not fit the result", i));
  return {};
}

Status check_groups(const InferContext& context, const DeformConvParams& params,
                    const Expr& channels) {
  const std::int64_t group = params.group, offsets = params.offset_group;
  if (group < 1 || offsets < 1) return fail(context, "groups must be positive");
  const Shape& weight = context.inputs[1].shape;
  if (!unify(weight[1] * Expr(group), channels) || channels.constant().value_or(0) % offsets != 0) {
    return fail(context, fmt::format("groups {} and {} do not match the channels", group, offsets));
  }
  if (weight[0].constant().value_or(0) % group != 0) {
    return fail(context, fmt::format("the filters are not a multiple of group {}", group));
  }
  PX_RETURN_IF_ERROR(expect_rank(context, 3, 1));
  if (context.has(3) && !unify(context.inputs[3].shape[0], weight[0])) {
    return fail(context, "the bias must have one element per filter");
  }
  return {};
}

InferResult infer_deform_conv(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kFloatTypes));
    PX_RETURN_IF_ERROR(expect_same_dtype(context, i));
  }
  PX_ASSIGN(ImageShape image, image_shape(context));
  const std::size_t axes = image.spatial.size();
  if (axes > kMaxSampledAxes) {
    return fail(context, "more than 3 spatial axes are not covered", ErrorCode::kUnsupported);
  }
  PX_RETURN_IF_ERROR(expect_rank(context, 1, rank_of(context.inputs[0])));
  PX_ASSIGN(auto params, read_params<DeformConvParams>(context));
  PX_RETURN_IF_ERROR(complete_windows(context, axes, params));
  PX_ASSIGN(const auto kernel, weight_kernel(context, params.kernel_shape, axes));
  PX_RETURN_IF_ERROR(check_groups(context, params, image.channels));
  image.channels = context.inputs[1].shape[0];
  for (std::size_t i = 0; i < axes; ++i) {
    PX_ASSIGN(image.spatial[i],
              window_count(context, params, i, image.spatial[i], kernel[i], false));
  }
  Shape shape = join_shape(context, image);
  PX_RETURN_IF_ERROR(
      check_field(context, 2, static_cast<std::int64_t>(axes), params, kernel, shape));
  PX_RETURN_IF_ERROR(check_field(context, 4, 1, params, kernel, shape));
  return one_output(context.inputs[0].dtype, std::move(shape));
}

/// Each output element takes one filter.
std::int64_t macs_deform_conv(const Node&, std::span<const Dims> inputs,
                              std::span<const Dims> outputs) {
  if (inputs.size() < 2 || outputs.empty()) return 0;
  std::int64_t macs = saturating_elements(outputs[0]);
  for (int i = 1; i < inputs[1].rank(); ++i) macs = saturating_mul(macs, inputs[1][i]);
  return macs;
}

}  // namespace

const OpDef& op_def_GridSample() {
  static const OpDef def = [] {
    OpDef d(OpKind::kGridSample, whole_tensors(WorkKind::kMovement, ConformanceForm::kOwn));
    d.since = 16;
    d.min_inputs = 2;
    d.max_inputs = 2;
    d.attributes = attributes_of<GridSampleParams>();
    d.infer = infer_grid_sample;
    d.macs = macs_grid_sample;
    return d;
  }();
  return def;
}

const OpDef& op_def_DeformConv() {
  static const OpDef def = [] {
    OpDef d(OpKind::kDeformConv, {.work = WorkKind::kConvolution,
                                  .flops = PaperFlops::kConvolution,
                                  .nhwc = NhwcRule::kNone,
                                  .rows = RowRule::kNone,
                                  .form = ConformanceForm::kOwn});
    d.since = 19;
    d.min_inputs = 3;
    d.max_inputs = 5;
    d.attributes = attributes_of<DeformConvParams>();
    d.infer = infer_deform_conv;
    d.macs = macs_deform_conv;
    return d;
  }();
  return def;
}

}  // namespace parallax
