// GatherElements and ScatterElements, where each index chooses one element; TensorScatter.
#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/indexing.h"

namespace parallax {

namespace {

/// Indices have the rank of the data and, but for the axis, no more elements along any axis.
Result<int> check_indices(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kIndexTypes));
  const Shape& data = context.inputs[0].shape;
  const Shape& indices = context.inputs[1].shape;
  PX_ASSIGN(const auto params, read_params<AxisParams<0>>(context));
  PX_ASSIGN(const int axis, checked_axis(context, params.axis, rank_of(context.inputs[0])));
  if (indices.size() != data.size()) return fail(context, "data and indices differ in rank");
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (static_cast<int>(i) != axis && is_negative(data[i] - indices[i])) {
      return fail(context, fmt::format("more indices than elements on axis {}", i));
    }
  }
  return axis;
}

InferResult infer_gather_elements(const InferContext& context) {
  PX_ASSIGN([[maybe_unused]] const int axis, check_indices(context));
  return one_output(context.inputs[0].dtype, context.inputs[1].shape);
}

Status expect_same_shape(const InferContext& context, std::size_t a, std::size_t b) {
  if (same_shape(context.inputs[a].shape, context.inputs[b].shape)) return {};
  return fail(context, fmt::format("inputs {} and {} differ in shape", a, b));
}

InferResult infer_scatter_elements(const InferContext& context) {
  PX_RETURN_IF_ERROR(read_params<ScatterElementsParams>(context));
  PX_RETURN_IF_ERROR(expect_same_dtype(context, 2));
  PX_ASSIGN([[maybe_unused]] const int axis, check_indices(context));
  PX_RETURN_IF_ERROR(expect_same_shape(context, 1, 2));
  return one_output(context.inputs[0].dtype, context.inputs[0].shape);
}

/// A cache, what is written into it along the axis, and from where on for each sample.
InferResult infer_tensor_scatter(const InferContext& context) {
  PX_ASSIGN(const auto params, read_params<TensorScatterParams>(context));
  PX_RETURN_IF_ERROR(expect_same_dtype(context, 1));
  PX_RETURN_IF_ERROR(expect_dtype(context, 2, kI64Types));
  PX_RETURN_IF_ERROR(expect_rank(context, 2, 1));
  const InferInput& cache = context.inputs[0];
  const Shape& update = context.inputs[1].shape;
  PX_ASSIGN(const int axis, checked_axis(context, params.axis, rank_of(cache)));
  if (axis == 0) return fail(context, "axis 0 is that of the samples");
  if (update.size() != cache.shape.size()) return fail(context, "inputs 0 and 1 differ in rank");
  for (std::size_t i = 0; i < update.size(); ++i) {
    const bool along = static_cast<int>(i) == axis;
    if (along ? is_negative(cache.shape[i] - update[i]) : !unify(cache.shape[i], update[i])) {
      return fail(context, fmt::format("the update does not fit on axis {}", i));
    }
  }
  if (context.has(2) && !unify(context.inputs[2].shape[0], cache.shape[0])) {
    return fail(context, "there must be one index for each sample");
  }
  return one_output(cache.dtype, cache.shape);
}

OpDef element_choice(int opset, OpKind kind, int least, int most,
                     InferResult (*infer)(const InferContext&)) {
  OpDef def(kind, whole_tensors(WorkKind::kMovement, ConformanceForm::kOwn));
  def.since = opset;
  def.min_inputs = least;
  def.max_inputs = most;
  def.attributes = attributes_of<AxisParams<0>>();
  def.infer = infer;
  def.macs = macs_none;
  return def;
}

}  // namespace

const OpDef& op_def_GatherElements() {
  static const OpDef def = element_choice(11, OpKind::kGatherElements, 2, 2, infer_gather_elements);
  return def;
}

const OpDef& op_def_ScatterElements() {
  static const OpDef def = [] {
    OpDef d = element_choice(11, OpKind::kScatterElements, 3, 3, infer_scatter_elements);
    d.attributes = attributes_of<ScatterElementsParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_TensorScatter() {
  static const OpDef def = [] {
    OpDef d = element_choice(24, OpKind::kTensorScatter, 2, 3, infer_tensor_scatter);
    d.attributes = attributes_of<TensorScatterParams>();
    return d;
  }();
  return def;
}

}  // namespace parallax
