// Functions of one element: one input, one output, same shape.
#include <fmt/core.h>

#include "ops/common.h"

namespace parallax {

namespace {

std::optional<Expr> negate(const InferContext&, std::span<const Expr> x) { return Expr(0) - x[0]; }

std::optional<Expr> absolute(const InferContext&, std::span<const Expr> x) {
  if (is_non_negative(x[0])) return x[0];
  if (is_negative(x[0])) return Expr(0) - x[0];
  return max(x[0], Expr(0) - x[0]);
}

std::optional<Expr> rectify(const InferContext&, std::span<const Expr> x) { return max(x[0], 0); }

std::optional<Expr> logical_not(const InferContext&, std::span<const Expr> x) {
  return Expr(1) - x[0];
}

/// Known where the element is certainly zero or certainly not.
std::optional<Expr> truth(const Expr& x) {
  if (x == Expr(0)) return Expr(0);
  if (is_negative(x) || is_negative(Expr(0) - x)) return Expr(1);
  return std::nullopt;
}

template <DTypeSet kTypes, CombineElements kCombine = nullptr>
InferResult infer_unary(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kTypes));
  const InferInput& x = context.inputs[0];
  Content content;
  if constexpr (kCombine != nullptr) content = elementwise_content(context, x.shape, kCombine);
  return one_output(x.dtype, x.shape, std::move(content));
}

InferResult infer_gelu(const InferContext& context) {
  PX_ASSIGN([[maybe_unused]] auto form,
            choice_attribute(context, "approximate", "none", {"none", "tanh"}));
  return infer_unary<kFloatTypes>(context);
}

/// Clip's bounds are single numbers; integers are clipped as expressions too.
InferResult infer_clip(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kNumericTypes));
  for (std::size_t i : {1U, 2U}) {
    PX_RETURN_IF_ERROR(expect_same_dtype(context, i));
    PX_RETURN_IF_ERROR(expect_one_element(context, i));
  }
  const InferInput& x = context.inputs[0];
  const auto clip = [](const InferContext& c, std::span<const Expr> row) -> std::optional<Expr> {
    Expr result = row[0];
    std::size_t next = 1;
    if (c.has(1)) result = max(result, row[next++]);
    if (c.has(2)) result = min(result, row[next]);
    return result;
  };
  return one_output(x.dtype, x.shape, elementwise_content(context, x.shape, clip));
}

InferResult infer_is_nan(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kFloatTypes));
  return one_output(DType::kBool, context.inputs[0].shape);
}

InferResult infer_cast(const InferContext& context) {
  const std::int64_t to = context.node.attributes.get_int("to", 0);
  const auto dtype = dtype_from_onnx(to);
  if (!dtype || !contains(kAllTypes, *dtype)) {
    return fail(context, fmt::format("cannot cast to ONNX element type {}", to),
                ErrorCode::kUnsupported);
  }
  const InferInput& x = context.inputs[0];
  Content content;
  if (has_content(*dtype)) {
    content = elementwise_content(
        context, x.shape,
        *dtype == DType::kBool
            ? +[](const InferContext&, std::span<const Expr> row) { return truth(row[0]); }
            : +[](const InferContext&, std::span<const Expr> row) {
                return std::optional<Expr>(row[0]);
              });
  }
  return one_output(*dtype, x.shape, std::move(content));
}

OpDef unary(OpKind kind, InferResult (*infer)(const InferContext&)) {
  OpDef def;
  def.kind = kind;
  def.infer = infer;
  def.macs = macs_per_output;
  def.elementwise = true;
  return def;
}

}  // namespace

const OpDef& op_def_Abs() {
  static const OpDef def = unary(OpKind::kAbs, infer_unary<kNumericTypes, absolute>);
  return def;
}

const OpDef& op_def_Neg() {
  static const OpDef def = unary(OpKind::kNeg, infer_unary<kSignedTypes, negate>);
  return def;
}

const OpDef& op_def_Relu() {
  static const OpDef def = unary(OpKind::kRelu, infer_unary<kSignedTypes, rectify>);
  return def;
}

const OpDef& op_def_Not() {
  static const OpDef def = unary(OpKind::kNot, infer_unary<kBoolTypes, logical_not>);
  return def;
}

const OpDef& op_def_IsNaN() {
  static const OpDef def = since(9, unary(OpKind::kIsNaN, infer_is_nan));
  return def;
}

const OpDef& op_def_Erf() {
  static const OpDef def = since(9, unary(OpKind::kErf, infer_unary<kNumericTypes>));
  return def;
}

const OpDef& op_def_Exp() {
  static const OpDef def = unary(OpKind::kExp, infer_unary<kFloatTypes>);
  return def;
}

/// x * max(0, min(1, x / 6 + 1 / 2)).
const OpDef& op_def_HardSwish() {
  static const OpDef def = since(14, unary(OpKind::kHardSwish, infer_unary<kFloatTypes>));
  return def;
}

const OpDef& op_def_Log() {
  static const OpDef def = unary(OpKind::kLog, infer_unary<kFloatTypes>);
  return def;
}

const OpDef& op_def_Reciprocal() {
  static const OpDef def = unary(OpKind::kReciprocal, infer_unary<kFloatTypes>);
  return def;
}

const OpDef& op_def_Sigmoid() {
  static const OpDef def = unary(OpKind::kSigmoid, infer_unary<kFloatTypes>);
  return def;
}

/// x * Sigmoid(alpha * x).
const OpDef& op_def_Silu() {
  static const OpDef def = [] {
    OpDef d = unary(OpKind::kSilu, infer_unary<kFloatTypes>);
    d.attributes = {{"alpha", AttributeType::kFloat}};
    d.internal = true;
    return d;
  }();
  return def;
}

const OpDef& op_def_Sqrt() {
  static const OpDef def = unary(OpKind::kSqrt, infer_unary<kFloatTypes>);
  return def;
}

const OpDef& op_def_Tanh() {
  static const OpDef def = unary(OpKind::kTanh, infer_unary<kFloatTypes>);
  return def;
}

const OpDef& op_def_Gelu() {
  static const OpDef def = [] {
    OpDef d = unary(OpKind::kGelu, infer_gelu);
    d.since = 20;
    d.attributes = {{"approximate", AttributeType::kString}};
    return d;
  }();
  return def;
}

const OpDef& op_def_Clip() {
  static const OpDef def = [] {
    OpDef d = unary(OpKind::kClip, infer_clip);
    d.max_inputs = 3;
    return d;
  }();
  return def;
}

const OpDef& op_def_Cast() {
  static const OpDef def = [] {
    OpDef d = unary(OpKind::kCast, infer_cast);
    // saturate concerns 8-bit floats only, which no model that loads has.
    d.attributes = {{"to", AttributeType::kInt}, {"saturate", AttributeType::kInt}};
    return d;
  }();
  return def;
}

}  // namespace parallax
