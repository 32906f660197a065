// CumSum and CumProd: each element is what those before it along one axis come to.
#include "ops/common.h"
#include "ops/params/numbers.h"

namespace parallax {

namespace {

/// One line's results as expressions.
Content running_content(const InferContext& context) {
  const InferInput& x = context.inputs[0];
  if (!has_content(x.dtype) || x.shape.size() != 1 || !content_size(x.shape)) return std::nullopt;
  auto elements = context.exprs(0);
  if (!elements) return std::nullopt;
  const bool product = context.node.op == OpKind::kCumProd;
  const auto [exclusive, reverse] = params_of<CumulativeParams>(context.node);
  Expr total(product ? 1 : 0);
  for (std::size_t i = 0; i < elements->size(); ++i) {
    Expr& element = (*elements)[reverse ? elements->size() - 1 - i : i];
    Expr next = product ? total * element : total + element;
    element = exclusive ? total : next;
    total = std::move(next);
  }
  return elements;
}

InferResult infer_cumulative(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kSumTypes));
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kIndexTypes));
  PX_RETURN_IF_ERROR(expect_one_element(context, 1));
  PX_RETURN_IF_ERROR(read_params<CumulativeParams>(context));
  const InferInput& x = context.inputs[0];
  if (const auto axis = context.known_ints(1); axis && axis->size() == 1) {
    PX_ASSIGN([[maybe_unused]] const auto axes, normalize_axes(context, *axis, rank_of(x)));
  }
  return one_output(x.dtype, x.shape, running_content(context));
}

OpDef cumulative(int opset, OpKind kind) {
  OpDef def(kind, {.work = WorkKind::kElementwise,
                   .flops = PaperFlops::kOutputs,
                   .nhwc = NhwcRule::kNone,
                   .rows = RowRule::kNone,
                   .form = ConformanceForm::kOwn});
  def.since = opset;
  def.min_inputs = 2;
  def.max_inputs = 2;
  def.attributes = attributes_of<CumulativeParams>();
  def.infer = infer_cumulative;
  def.macs = macs_per_output;
  return def;
}

}  // namespace

const OpDef& op_def_CumProd() {
  static const OpDef def = cumulative(26, OpKind::kCumProd);
  return def;
}

const OpDef& op_def_CumSum() {
  static const OpDef def = cumulative(11, OpKind::kCumSum);
  return def;
}

}  // namespace parallax
