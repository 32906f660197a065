// Elements of one type as those of another: Cast and CastLike by their numbers, BitCast by their
// bits.
#include <fmt/core.h>

#include "ops/common.h"
#include "ops/params/numbers.h"

namespace parallax {
namespace {

/// Known where the element is certainly zero or certainly not.
std::optional<Expr> truth(const Expr& x) {
  if (x == Expr(0)) return Expr(0);
  if (is_negative(x) || is_negative(Expr(0) - x)) return Expr(1);
  return std::nullopt;
}

InferResult infer_conversion(const InferContext& context, DType to) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kSizedTypes));
  PX_RETURN_IF_ERROR(read_params<CastLikeParams>(context));
  const InferInput& x = context.inputs[0];
  Content content;
  if (has_content(to)) {
    content = elementwise_content(
        context, x.shape,
        to == DType::kBool
            ? +[](const InferContext&, std::span<const Expr> row) { return truth(row[0]); }
            : +[](const InferContext&, std::span<const Expr> row) {
                return std::optional<Expr>(row[0]);
              });
  }
  return one_output(to, x.shape, std::move(content));
}

/// The type that the attribute `to` names.
Result<DType> target_type(const InferContext& context) {
  const std::int64_t to = params_of<TargetParams>(context.node).to;
  const auto dtype = dtype_from_onnx(to);
  if (dtype && contains(kSizedTypes, *dtype)) return *dtype;
  return fail(context, fmt::format("cannot cast to ONNX element type {}", to),
              ErrorCode::kUnsupported);
}

InferResult infer_cast(const InferContext& context) {
  PX_ASSIGN(const DType to, target_type(context));
  return infer_conversion(context, to);
}

InferResult infer_cast_like(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kSizedTypes));
  // Nothing but the type of the second input counts.
  InferContext alone{context.node, context.inputs.first(1), context.fresh_symbol, context.symbols};
  return infer_conversion(alone, context.inputs[1].dtype);
}

InferResult infer_bit_cast(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kSizedTypes));
  PX_ASSIGN(const DType to, target_type(context));
  const InferInput& x = context.inputs[0];
  if (info_of(to).bits != info_of(x.dtype).bits) {
    return fail(context, fmt::format("elements of {} have no bits of {}", to_string(x.dtype),
                                     to_string(to)));
  }
  return one_output(to, x.shape);
}

OpDef conversion(OpKind kind, const OpTraits& traits, InferResult (*infer)(const InferContext&)) {
  OpDef def(kind, traits);
  def.infer = infer;
  def.macs = macs_per_output;
  def.attributes = attributes_of<CastLikeParams>();
  return def;
}

}  // namespace

const OpDef& op_def_Cast() {
  static const OpDef def = [] {
    OpDef d =
        conversion(OpKind::kCast, ElementwiseTraits{WorkKind::kElementwise, ConformanceForm::kOwn},
                   infer_cast);
    d.attributes = attributes_of<CastParams>();
    d.elementwise = true;
    return d;
  }();
  return def;
}

const OpDef& op_def_CastLike() {
  static const OpDef def = [] {
    OpDef d = since(15, conversion(OpKind::kCastLike,
                                   whole_tensors(WorkKind::kElementwise, ConformanceForm::kOwn),
                                   infer_cast_like));
    d.min_inputs = d.max_inputs = 2;
    return d;
  }();
  return def;
}

const OpDef& op_def_BitCast() {
  static const OpDef def = [] {
    OpDef d = since(
        26, conversion(OpKind::kBitCast, whole_tensors(WorkKind::kMovement, ConformanceForm::kOwn),
                       infer_bit_cast));
    d.attributes = attributes_of<TargetParams>();
    d.macs = macs_none;
    return d;
  }();
  return def;
}

}  // namespace parallax
