// Operators whose results have sizes that only their kernels can tell: NonZero and
// NonMaxSuppression.
#include <fmt/core.h>

#include "ops/common.h"

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
    PX_RETURN_IF_ERROR(expect_dtype(context, i, kFloatTypes));
  }
  PX_RETURN_IF_ERROR(expect_dtype(context, 2, kI64Types));
  for (std::size_t i : {2U, 3U, 4U}) PX_RETURN_IF_ERROR(expect_one_element(context, i));
  PX_RETURN_IF_ERROR(expect_rank(context, 0, 3));
  PX_RETURN_IF_ERROR(expect_rank(context, 1, 3));
  PX_ASSIGN([[maybe_unused]] const bool center, flag_attribute(context, "center_point_box", false));
  const Shape& boxes = context.inputs[0].shape;
  const Shape& scores = context.inputs[1].shape;
  if (!unify(boxes[2], 4)) return fail(context, "a box must have 4 coordinates");
  if (!unify(boxes[0], scores[0]) || !unify(boxes[1], scores[2])) {
    return fail(context, "boxes and scores do not match");
  }
  return one_output(DType::kI64, {context.fresh_symbol("selected"), Expr(3)});
}

/// One step per score: what is compared with what depends on the values.
std::int64_t macs_non_max_suppression(const Node&, std::span<const Dims> inputs,
                                      std::span<const Dims>) {
  return inputs.size() < 2 ? 0 : saturating_elements(inputs[1]);
}

}  // namespace

const OpDef& op_def_NonZero() {
  static const OpDef def = [] {
    OpDef d;
    d.kind = OpKind::kNonZero;
    d.since = 9;
    d.infer = infer_non_zero;
    d.macs = macs_per_input;
    return d;
  }();
  return def;
}

const OpDef& op_def_NonMaxSuppression() {
  static const OpDef def = [] {
    OpDef d;
    d.kind = OpKind::kNonMaxSuppression;
    d.since = 10;
    d.min_inputs = 2;
    d.max_inputs = 5;
    d.attributes = {{"center_point_box", AttributeType::kInt}};
    d.infer = infer_non_max_suppression;
    d.macs = macs_non_max_suppression;
    return d;
  }();
  return def;
}

}  // namespace parallax
