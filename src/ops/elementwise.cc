// Functions of one element: one input, one output, same shape.
#include "ops/elementwise.h"
#include "ops/params/activation.h"

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

InferResult infer_gelu(const InferContext& context) {
  PX_RETURN_IF_ERROR(read_params<GeluParams>(context));
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
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kTestedFloatTypes));
  return one_output(DType::kBool, context.inputs[0].shape);
}

}  // namespace

OpDef unary(OpKind kind, const ElementwiseTraits& traits,
            InferResult (*infer)(const InferContext&)) {
  return elementwise(kind, traits, 1, infer);
}

const OpDef& op_def_Abs() {
  static const OpDef def = unary(OpKind::kAbs, {WorkKind::kElementwise, ConformanceForm::kUnary},
                                 infer_unary<kNumericTypes, absolute>);
  return def;
}

const OpDef& op_def_Neg() {
  static const OpDef def = unary(OpKind::kNeg, {WorkKind::kElementwise, ConformanceForm::kUnary},
                                 infer_unary<kSignedTypes, negate>);
  return def;
}

const OpDef& op_def_Relu() {
  static const OpDef def = unary(OpKind::kRelu, {WorkKind::kElementwise, ConformanceForm::kUnary},
                                 infer_unary<kSignedTypes, rectify>);
  return def;
}

const OpDef& op_def_Not() {
  static const OpDef def = unary(OpKind::kNot, {WorkKind::kElementwise, ConformanceForm::kUnary},
                                 infer_unary<kBoolTypes, logical_not>);
  return def;
}

const OpDef& op_def_IsNaN() {
  static const OpDef def = since(
      9, unary(OpKind::kIsNaN, {WorkKind::kElementwise, ConformanceForm::kUnary}, infer_is_nan));
  return def;
}

const OpDef& op_def_Erf() {
  static const OpDef def =
      since(9, unary(OpKind::kErf, {WorkKind::kFunction, ConformanceForm::kUnary},
                     infer_unary<kNumericTypes>));
  return def;
}

const OpDef& op_def_Exp() {
  static const OpDef def =
      unary(OpKind::kExp, {WorkKind::kFunction, ConformanceForm::kUnary}, infer_unary<kFloatTypes>);
  return def;
}

/// x * max(0, min(1, x / 6 + 1 / 2)).
const OpDef& op_def_HardSwish() {
  static const OpDef def =
      since(14, unary(OpKind::kHardSwish, {WorkKind::kFunction, ConformanceForm::kUnary},
                      infer_unary<kFloatTypes>));
  return def;
}

const OpDef& op_def_Log() {
  static const OpDef def =
      unary(OpKind::kLog, {WorkKind::kFunction, ConformanceForm::kUnaryOfPositive},
            infer_unary<kFloatTypes>);
  return def;
}

const OpDef& op_def_Reciprocal() {
  static const OpDef def =
      unary(OpKind::kReciprocal, {WorkKind::kElementwise, ConformanceForm::kUnaryOfNonZero},
            infer_unary<kFloatTypes>);
  return def;
}

const OpDef& op_def_Sigmoid() {
  static const OpDef def = unary(OpKind::kSigmoid, {WorkKind::kFunction, ConformanceForm::kUnary},
                                 infer_unary<kFloatTypes>);
  return def;
}

/// x * Sigmoid(alpha * x).
const OpDef& op_def_Silu() {
  static const OpDef def = [] {
    OpDef d = unary(OpKind::kSilu, {WorkKind::kFunction, ConformanceForm::kOwn},
                    infer_unary<kFloatTypes>);
    d.attributes = attributes_of<AlphaParams>();
    d.internal = true;
    return d;
  }();
  return def;
}

const OpDef& op_def_Sqrt() {
  static const OpDef def =
      unary(OpKind::kSqrt, {WorkKind::kElementwise, ConformanceForm::kUnaryOfPositive},
            infer_unary<kFloatTypes>);
  return def;
}

const OpDef& op_def_Tanh() {
  static const OpDef def = unary(OpKind::kTanh, {WorkKind::kFunction, ConformanceForm::kUnary},
                                 infer_unary<kFloatTypes>);
  return def;
}

const OpDef& op_def_Gelu() {
  static const OpDef def = [] {
    OpDef d = unary(OpKind::kGelu, {WorkKind::kFunction, ConformanceForm::kOwn}, infer_gelu);
    d.since = 20;
    d.attributes = attributes_of<GeluParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_Clip() {
  static const OpDef def = [] {
    OpDef d = unary(OpKind::kClip, {WorkKind::kElementwise, ConformanceForm::kOwn}, infer_clip);
    d.max_inputs = 3;
    return d;
  }();
  return def;
}

}  // namespace parallax
