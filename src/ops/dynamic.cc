// Operators whose results have sizes that only their kernels can tell: NonZero, NonMaxSuppression,
// Compress, Unique.
#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/indexing.h"

namespace parallax {

namespace {

/// One column per element that is not zero; one row per axis. A scalar has no axes.
InferResult infer_non_zero(const InferContext& context) {
  const auto rank = static_cast<std::int64_t>(context.inputs[0].shape.size());
  return one_output(DType::kI64, {Expr(rank), context.fresh_symbol("nonzero")});
}

/// Boxes [batch, boxes, 4] and scores [batch, classes, boxes] give rows of (batch, class, box).
InferResult infer_non_max_suppression(const InferContext& context) {
  for (std::size_t i : {0U, 1U, 3U, 4U}) {
    PX_RETURN_IF_ERROR(expect_dtype(context, i, dtype_bit(DType::kF32)));
  }
  PX_RETURN_IF_ERROR(expect_dtype(context, 2, kI64Types));
  for (std::size_t i : {2U, 3U, 4U}) PX_RETURN_IF_ERROR(expect_one_element(context, i));
  PX_RETURN_IF_ERROR(expect_rank(context, 0, 3));
  PX_RETURN_IF_ERROR(expect_rank(context, 1, 3));
  PX_RETURN_IF_ERROR(read_params<NonMaxSuppressionParams>(context));
  const Shape& boxes = context.inputs[0].shape;
  const Shape& scores = context.inputs[1].shape;
  if (!unify(boxes[2], 4)) return fail(context, "a box must have 4 coordinates");
  if (!unify(boxes[0], scores[0]) || !unify(boxes[1], scores[2])) {
    return fail(context, "boxes and scores do not match");
  }
  return one_output(DType::kI64, {context.fresh_symbol("selected"), Expr(3)});
}

/// The slices along an axis, or the elements of the flattened input, that a condition chooses.
InferResult infer_compress(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kBoolTypes));
  PX_RETURN_IF_ERROR(expect_rank(context, 1, 1));
  const InferInput& x = context.inputs[0];
  PX_ASSIGN(const auto params, read_params<OptionalAxisParams>(context));
  if (!params.axis) {
    return one_output(x.dtype, {context.fresh_symbol("chosen")});
  }
  PX_ASSIGN(const int axis, checked_axis(context, *params.axis, rank_of(x)));
  Shape shape = x.shape;
  shape[static_cast<std::size_t>(axis)] = context.fresh_symbol("chosen");
  return one_output(x.dtype, std::move(shape));
}

/// Slices or elements that differ; where each is met first, which one each of the input is, and how
/// often it occurs.
InferResult infer_unique(const InferContext& context) {
  PX_ASSIGN(const auto params, read_params<UniqueParams>(context));
  const InferInput& x = context.inputs[0];
  const Expr count = context.fresh_symbol("unique");
  Shape shape = {count};
  if (params.axis) {
    PX_ASSIGN(const int axis, checked_axis(context, *params.axis, rank_of(x)));
    shape = x.shape;
    shape[static_cast<std::size_t>(axis)] = count;
  }
  auto outputs = one_output(x.dtype, std::move(shape));
  // The kernel sizes all of its results or none.
  for (const Expr& length : {count, context.fresh_symbol("inverse"), count}) {
    outputs.push_back({DType::kI64, {length}, std::nullopt});
  }
  return outputs;
}

/// One step per score: what is compared with what depends on the values.
std::int64_t macs_non_max_suppression(const Node&, std::span<const Dims> inputs,
                                      std::span<const Dims>) {
  return inputs.size() < 2 ? 0 : saturating_elements(inputs[1]);
}

}  // namespace

const OpDef& op_def_NonZero() {
  static const OpDef def = [] {
    OpDef d(OpKind::kNonZero,
            whole_tensors(WorkKind::kElementwise, ConformanceForm::kSizedByRunning));
    d.since = 9;
    d.infer = infer_non_zero;
    d.macs = macs_per_input;
    return d;
  }();
  return def;
}

const OpDef& op_def_Compress() {
  static const OpDef def = [] {
    OpDef d(OpKind::kCompress,
            whole_tensors(WorkKind::kMovement, ConformanceForm::kSizedByRunning));
    d.since = 9;
    d.min_inputs = 2;
    d.max_inputs = 2;
    d.attributes = attributes_of<OptionalAxisParams>();
    d.infer = infer_compress;
    d.macs = macs_none;
    return d;
  }();
  return def;
}

const OpDef& op_def_Unique() {
  static const OpDef def = [] {
    OpDef d(OpKind::kUnique,
            whole_tensors(WorkKind::kElementwise, ConformanceForm::kSizedByRunning));
    d.since = 11;
    d.max_outputs = 4;
    d.attributes = attributes_of<UniqueParams>();
    d.infer = infer_unique;
    d.macs = macs_per_input;
    return d;
  }();
  return def;
}

const OpDef& op_def_NonMaxSuppression() {
  static const OpDef def = [] {
    OpDef d(OpKind::kNonMaxSuppression,
            whole_tensors(WorkKind::kElementwise, ConformanceForm::kSizedByRunning));
    d.since = 10;
    d.min_inputs = 2;
    d.max_inputs = 5;
    d.attributes = attributes_of<NonMaxSuppressionParams>();
    d.infer = infer_non_max_suppression;
    d.macs = macs_non_max_suppression;
    return d;
  }();
  return def;
}

}  // namespace parallax
