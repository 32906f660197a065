// Det.
#include "ops/common.h"

namespace parallax {

namespace {

/// [.., m, m] gives [..].
InferResult infer_det(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  Shape shape = context.inputs[0].shape;
  if (shape.size() < 2 || !unify(shape.back(), shape[shape.size() - 2])) {
    return fail(context, "a determinant is one of square matrices");
  }
  shape.resize(shape.size() - 2);
  return one_output(context.inputs[0].dtype, std::move(shape));
}

/// A third of the cube for each matrix.
std::int64_t macs_det(const Node&, std::span<const Dims> inputs, std::span<const Dims>) {
  if (inputs.empty() || inputs[0].rank() < 2) return 0;
  return saturating_mul(saturating_elements(inputs[0]), inputs[0][inputs[0].rank() - 1]) / 3;
}

}  // namespace

const OpDef& op_def_Det() {
  static const OpDef def = [] {
    OpDef d(OpKind::kDet, whole_tensors(WorkKind::kElementwise, ConformanceForm::kOwn));
    d.since = 11;
    d.infer = infer_det;
    d.macs = macs_det;
    return d;
  }();
  return def;
}

}  // namespace parallax
