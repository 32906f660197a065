// MaxRoiPool and RoiAlign: a grid of values from each region of an image.
#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/sampling.h"

namespace parallax {

namespace {

/// Sizes of the grid, and samples along each side of one of its cells, are no larger: loops are as
/// long as they say.
constexpr std::int64_t kMaxGrid = std::int64_t{1} << 20, kMaxSamples = 1024;

Result<std::int64_t> within(const InferContext& context, std::string_view name, std::int64_t value,
                            std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return value;
  return fail(context, fmt::format("{} {} is outside [{}, {}]", name, value, least, most));
}

/// Regions [count, `columns`] of an image [batch, channels, height, width] give [count, channels,
/// height, width].
InferResult regions(const InferContext& context, std::int64_t columns, std::int64_t height,
                    std::int64_t width) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kFloatTypes));
  PX_RETURN_IF_ERROR(expect_same_dtype(context, 1));
  PX_RETURN_IF_ERROR(expect_rank(context, 0, 4));
  PX_RETURN_IF_ERROR(expect_rank(context, 1, 2));
  PX_ASSIGN(height, within(context, "the output height", height, 1, kMaxGrid));
  PX_ASSIGN(width, within(context, "the output width", width, 1, kMaxGrid));
  const Shape& rois = context.inputs[1].shape;
  if (!unify(rois[1], Expr(columns))) {
    return fail(context, fmt::format("a region must have {} numbers", columns));
  }
  return one_output(context.inputs[0].dtype,
                    {rois[0], context.inputs[0].shape[1], Expr(height), Expr(width)});
}

InferResult infer_max_roi_pool(const InferContext& context) {
  const auto shape = params_of<MaxRoiPoolParams>(context.node).pooled_shape;
  if (shape.size() != 2) return fail(context, "pooled_shape must have 2 elements");
  return regions(context, 5, shape[0], shape[1]);
}

InferResult infer_roi_align(const InferContext& context) {
  PX_ASSIGN(const auto params, read_params<RoiAlignParams>(context));
  PX_RETURN_IF_ERROR(within(context, "sampling_ratio", params.sampling_ratio, 0, kMaxSamples));
  PX_RETURN_IF_ERROR(expect_dtype(context, 2, kI64Types));
  PX_RETURN_IF_ERROR(expect_rank(context, 2, 1));
  if (context.inputs[1].shape.size() == 2 &&
      !unify(context.inputs[2].shape[0], context.inputs[1].shape[0])) {
    return fail(context, "each region needs the index of its image");
  }
  return regions(context, 4, params.output_height, params.output_width);
}

}  // namespace

const OpDef& op_def_MaxRoiPool() {
  static const OpDef def = [] {
    OpDef d(OpKind::kMaxRoiPool, whole_tensors(WorkKind::kPool, ConformanceForm::kOwn));
    d.min_inputs = 2;
    d.max_inputs = 2;
    d.attributes = attributes_of<MaxRoiPoolParams>();
    d.infer = infer_max_roi_pool;
    d.macs = macs_per_output;
    return d;
  }();
  return def;
}

const OpDef& op_def_RoiAlign() {
  static const OpDef def = [] {
    OpDef d(OpKind::kRoiAlign, whole_tensors(WorkKind::kPool, ConformanceForm::kOwn));
    d.since = 10;
    d.min_inputs = 3;
    d.max_inputs = 3;
    d.attributes = attributes_of<RoiAlignParams>();
    d.infer = infer_roi_align;
    d.macs = macs_per_output;
    return d;
  }();
  return def;
}

}  // namespace parallax
