// MaxUnpool: the elements that MaxPool kept go back to where they were, among zeros.
#include <fmt/core.h>

#include "ops/window.h"

namespace parallax {

namespace {

constexpr std::size_t kIndices = 1, kOutputShape = 2;

/// Returns the shape of the tensor that MaxPool pooled, from the attributes of MaxUnpool: the
/// smallest one that gives the pooled shape.
Result<Shape> pooled_from(const InferContext& context) {
  PX_ASSIGN(ImageShape image, image_shape(context));
  const std::size_t axes = image.spatial.size();
  PX_ASSIGN(auto params, read_params<MaxUnpoolParams>(context));
  const auto& kernel = params.kernel_shape;
  if (kernel.size() != axes) {
    return fail(context, fmt::format("kernel_shape must have {} elements", axes));
  }
  PX_RETURN_IF_ERROR(complete_windows(context, axes, params));
  for (std::size_t i = 0; i < axes; ++i) {
    PX_ASSIGN(const auto extent, window_extent(context, kernel[i], 1));
    Expr& dim = image.spatial[i];
    const Padding padding = params.stated_padding(i, axes);
    dim = (dim - 1) * Expr(params.strides[i]) + Expr(extent) - Expr(padding.begin) -
          Expr(padding.end);
    if (is_negative(dim)) {
      return fail(context, fmt::format("the pads are larger than spatial axis {}", i));
    }
  }
  return join_shape(context, image);
}

InferResult infer_max_unpool(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  PX_RETURN_IF_ERROR(expect_dtype(context, kIndices, kI64Types));
  PX_RETURN_IF_ERROR(expect_dtype(context, kOutputShape, kI64Types));
  const Shape& x = context.inputs[0].shape;
  PX_RETURN_IF_ERROR(expect_rank(context, kIndices, rank_of(context.inputs[0])));
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (unify(context.inputs[kIndices].shape[d], x[d])) continue;
    return fail(context, "the indices must have the shape of input 0");
  }
  PX_ASSIGN(Shape shape, pooled_from(context));
  if (!context.has(kOutputShape)) return one_output(context.inputs[0].dtype, std::move(shape));
  PX_ASSIGN(const auto length, vector_length(context, kOutputShape));
  if (length && *length != static_cast<std::int64_t>(x.size())) {
    return fail(context, fmt::format("output_shape has {} elements", *length));
  }
  const auto stated = context.exprs(kOutputShape);
  if (!stated) return one_output(context.inputs[0].dtype, fresh_shape(context, x.size()));
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (is_negative((*stated)[d] - shape[d])) {
      return fail(context, fmt::format("output_shape is too small along axis {}", d));
    }
  }
  return one_output(context.inputs[0].dtype, *stated);
}

}  // namespace

const OpDef& op_def_MaxUnpool() {
  static const OpDef def = [] {
    OpDef d(OpKind::kMaxUnpool, whole_tensors(WorkKind::kMovement, ConformanceForm::kOwn));
    d.since = 9;
    d.min_inputs = 2;
    d.max_inputs = 3;
    d.attributes = attributes_of<MaxUnpoolParams>();
    d.infer = infer_max_unpool;
    d.macs = macs_none;
    d.shape_inputs = 0b100;
    return d;
  }();
  return def;
}

}  // namespace parallax
