// Transposed convolution: each element of the image is spread over a window of the result.
#include <fmt/core.h>

#include "ops/window.h"

namespace parallax {

namespace {

/// The weight is [channels, filters / group, kernel].
Result<Expr> filters_of(const InferContext& context, std::int64_t group, const Expr& channels) {
  if (group < 1) return fail(context, fmt::format("group {} is not positive", group));
  const Shape& weight = context.inputs[1].shape;
  const auto rows = unify(weight[0], channels);
  if (!rows || rows->constant().value_or(0) % group != 0) {
    return fail(context, fmt::format("weight and group {} do not match the channels", group));
  }
  const Expr filters = weight[1] * Expr(group);
  PX_RETURN_IF_ERROR(expect_rank(context, 2, 1));
  if (filters.overflow() || (context.has(2) && !unify(context.inputs[2].shape[0], filters))) {
    return fail(context, "the bias must have one element per filter");
  }
  return filters;
}

/// The attribute output_shape for the spatial axes, also where it begins with batch and channels,
/// as some exporters write it; empty if it is absent.
Result<std::vector<std::int64_t>> stated_sizes(const InferContext& context, std::size_t axes,
                                               std::vector<std::int64_t> sizes) {
  if (sizes.empty()) return sizes;
  if (sizes.size() == axes + 2) sizes.erase(sizes.begin(), sizes.begin() + 2);
  if (sizes.size() != axes) {
    return fail(context, fmt::format("output_shape must have {} elements", axes));
  }
  for (const std::int64_t size : sizes) {
    if (size < 0) return fail(context, fmt::format("output_shape has an element {}", size));
  }
  return sizes;
}

InferResult infer_conv_transpose(const InferContext& context) {
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kFloatTypes));
    PX_RETURN_IF_ERROR(expect_same_dtype(context, i));
  }
  PX_ASSIGN(ImageShape image, image_shape(context));
  PX_RETURN_IF_ERROR(expect_rank(context, 1, rank_of(context.inputs[0])));
  const std::size_t axes = image.spatial.size();
  PX_ASSIGN(ConvTransposeParams params, read_params<ConvTransposeParams>(context));
  PX_RETURN_IF_ERROR(complete_windows(context, axes, params));
  PX_ASSIGN(const auto kernel, weight_kernel(context, params.kernel_shape, axes));
  PX_RETURN_IF_ERROR(complete_list(context, "output_padding", axes, 0, 0, params.output_padding));
  PX_ASSIGN(const auto sizes, stated_sizes(context, axes, params.output_shape));
  PX_ASSIGN(image.channels, filters_of(context, params.group, image.channels));
  for (std::size_t i = 0; i < axes; ++i) {
    PX_ASSIGN(const auto extent, window_extent(context, kernel[i], params.dilations[i]));
    Expr& dim = image.spatial[i];
    if (!sizes.empty()) {
      dim = sizes[i];
    } else if (params.same()) {
      dim = dim * Expr(params.strides[i]);
    } else {
      const Padding padding = params.stated_padding(i, axes);
      dim = (dim - 1) * Expr(params.strides[i]) + Expr(params.output_padding[i]) + Expr(extent) -
            Expr(padding.begin) - Expr(padding.end);
    }
    if (is_negative(dim)) {
      return fail(context, fmt::format("the pads are larger than spatial axis {}", i));
    }
  }
  return one_output(context.inputs[0].dtype, join_shape(context, image));
}

/// Each element of the image takes all filters of its group.
std::int64_t macs_conv_transpose(const Node&, std::span<const Dims> inputs, std::span<const Dims>) {
  if (inputs.size() < 2) return 0;
  std::int64_t macs = saturating_elements(inputs[0]);
  for (int i = 1; i < inputs[1].rank(); ++i) macs = saturating_mul(macs, inputs[1][i]);
  return macs;
}

}  // namespace

const OpDef& op_def_ConvTranspose() {
  static const OpDef def = [] {
    OpDef d(OpKind::kConvTranspose, {.work = WorkKind::kConvolution,
                                     .flops = PaperFlops::kTransposedConvolution,
                                     .nhwc = NhwcRule::kWindow,
                                     .rows = RowRule::kNone,
                                     .form = ConformanceForm::kOwn});
    d.min_inputs = 2;
    d.max_inputs = 3;
    d.attributes = attributes_of<ConvTransposeParams>();
    d.epilogue = true;
    d.infer = infer_conv_transpose;
    d.macs = macs_conv_transpose;
    return d;
  }();
  return def;
}

}  // namespace parallax
