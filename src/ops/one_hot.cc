// Tensors whose elements follow from their places: OneHot, EyeLike, Trilu.
#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/axis.h"
#include "ops/params/numbers.h"

namespace parallax {

namespace {

/// The size of the new axis; a fresh symbol where it is computed while running.
Result<Expr> one_hot_depth(const InferContext& context) {
  const InferInput& depth = context.inputs[1];
  if (const auto known = context.exprs(1); known && known->size() == 1) {
    if (is_negative(known->front())) return fail(context, "depth is negative");
    return known->front();
  }
  if (depth.constant == nullptr) return context.fresh_symbol("depth");
  const auto number = whole_number(*depth.constant);
  if (!number || *number < 0) return fail(context, "depth must be a number from 0 on");
  return Expr(*number);
}

InferResult infer_one_hot(const InferContext& context) {
  for (const std::size_t i : {0U, 1U}) PX_RETURN_IF_ERROR(expect_dtype(context, i, kNumericTypes));
  PX_RETURN_IF_ERROR(expect_one_element(context, 1));
  PX_RETURN_IF_ERROR(expect_rank(context, 2, 1));
  if (!unify(context.inputs[2].shape[0], 2)) {
    return fail(context, "values must be what is off and what is on");
  }
  Shape shape = context.inputs[0].shape;
  PX_ASSIGN(const auto params, read_params<AxisParams<-1>>(context));
  PX_ASSIGN(const int axis, checked_axis(context, params.axis, static_cast<int>(shape.size()) + 1));
  PX_ASSIGN(Expr depth, one_hot_depth(context));
  shape.insert(shape.begin() + axis, std::move(depth));
  return one_output(context.inputs[2].dtype, std::move(shape));
}

InferResult infer_eye_like(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_rank(context, 0, 2));
  const InferInput& x = context.inputs[0];
  PX_ASSIGN(const DType dtype, stated_dtype(context, params_of<EyeLikeParams>(context.node).dtype,
                                            kNumericTypes | kBoolTypes, x.dtype));
  return one_output(dtype, x.shape);
}

InferResult infer_trilu(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kI64Types));
  PX_RETURN_IF_ERROR(expect_one_element(context, 1));
  PX_RETURN_IF_ERROR(read_params<TriluParams>(context));
  const InferInput& x = context.inputs[0];
  if (rank_of(x) < 2) return fail(context, "input 0 must have rank 2 or more");
  return one_output(x.dtype, x.shape);
}

}  // namespace

const OpDef& op_def_OneHot() {
  static const OpDef def = [] {
    OpDef d(OpKind::kOneHot, whole_tensors(WorkKind::kMovement, ConformanceForm::kOwn));
    d.since = 9;
    d.min_inputs = 3;
    d.max_inputs = 3;
    d.attributes = attributes_of<AxisParams<-1>>();
    d.infer = infer_one_hot;
    d.macs = macs_none;
    d.shape_inputs = 0b10;
    return d;
  }();
  return def;
}

const OpDef& op_def_EyeLike() {
  static const OpDef def = [] {
    OpDef d(OpKind::kEyeLike, whole_tensors(WorkKind::kMovement, ConformanceForm::kOwn));
    d.since = 9;
    d.attributes = attributes_of<EyeLikeParams>();
    d.infer = infer_eye_like;
    d.macs = macs_none;
    return d;
  }();
  return def;
}

/// Keeps the elements above (below) a diagonal and sets the others to 0.
const OpDef& op_def_Trilu() {
  static const OpDef def = [] {
    OpDef d(OpKind::kTrilu, whole_tensors(WorkKind::kMovement, ConformanceForm::kOwn));
    d.since = 14;
    d.max_inputs = 2;
    d.attributes = attributes_of<TriluParams>();
    d.infer = infer_trilu;
    d.macs = macs_none;
    return d;
  }();
  return def;
}

}  // namespace parallax
