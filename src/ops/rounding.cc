// Rounding, trigonometric and hyperbolic functions of one element; Sign and IsInf.
#include "ops/elementwise.h"
#include "ops/params/numbers.h"

namespace parallax {

namespace {

/// Known where the sign is the same for all values of the symbols.
std::optional<Expr> sign_of(const InferContext&, std::span<const Expr> x) {
  if (x[0] == Expr(0)) return Expr(0);
  if (is_negative(x[0])) return Expr(-1);
  if (is_negative(Expr(0) - x[0])) return Expr(1);
  return std::nullopt;
}

InferResult infer_is_inf(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kTestedFloatTypes));
  PX_RETURN_IF_ERROR(read_params<IsInfParams>(context));
  return one_output(DType::kBool, context.inputs[0].shape);
}

}  // namespace

const OpDef& op_def_Acos() {
  static const OpDef def =
      since(7, unary(OpKind::kAcos, {WorkKind::kFunction, ConformanceForm::kUnary},
                     infer_unary<kFloatTypes>));
  return def;
}

const OpDef& op_def_Acosh() {
  static const OpDef def =
      since(9, unary(OpKind::kAcosh, {WorkKind::kFunction, ConformanceForm::kUnaryOfPositive},
                     infer_unary<kFloatTypes>));
  return def;
}

const OpDef& op_def_Asin() {
  static const OpDef def =
      since(7, unary(OpKind::kAsin, {WorkKind::kFunction, ConformanceForm::kUnary},
                     infer_unary<kFloatTypes>));
  return def;
}

const OpDef& op_def_Asinh() {
  static const OpDef def =
      since(9, unary(OpKind::kAsinh, {WorkKind::kFunction, ConformanceForm::kUnary},
                     infer_unary<kFloatTypes>));
  return def;
}

const OpDef& op_def_Atan() {
  static const OpDef def =
      since(7, unary(OpKind::kAtan, {WorkKind::kFunction, ConformanceForm::kUnary},
                     infer_unary<kFloatTypes>));
  return def;
}

const OpDef& op_def_Atanh() {
  static const OpDef def =
      since(9, unary(OpKind::kAtanh, {WorkKind::kFunction, ConformanceForm::kUnary},
                     infer_unary<kFloatTypes>));
  return def;
}

const OpDef& op_def_Ceil() {
  static const OpDef def = unary(OpKind::kCeil, {WorkKind::kElementwise, ConformanceForm::kUnary},
                                 infer_unary<kFloatTypes>);
  return def;
}

const OpDef& op_def_Cos() {
  static const OpDef def =
      since(7, unary(OpKind::kCos, {WorkKind::kFunction, ConformanceForm::kUnary},
                     infer_unary<kFloatTypes>));
  return def;
}

const OpDef& op_def_Cosh() {
  static const OpDef def =
      since(9, unary(OpKind::kCosh, {WorkKind::kFunction, ConformanceForm::kUnary},
                     infer_unary<kFloatTypes>));
  return def;
}

const OpDef& op_def_Floor() {
  static const OpDef def = unary(OpKind::kFloor, {WorkKind::kElementwise, ConformanceForm::kUnary},
                                 infer_unary<kFloatTypes>);
  return def;
}

const OpDef& op_def_Round() {
  static const OpDef def =
      since(11, unary(OpKind::kRound, {WorkKind::kElementwise, ConformanceForm::kUnary},
                      infer_unary<kFloatTypes>));
  return def;
}

const OpDef& op_def_Sin() {
  static const OpDef def =
      since(7, unary(OpKind::kSin, {WorkKind::kFunction, ConformanceForm::kUnary},
                     infer_unary<kFloatTypes>));
  return def;
}

const OpDef& op_def_Sinh() {
  static const OpDef def =
      since(9, unary(OpKind::kSinh, {WorkKind::kFunction, ConformanceForm::kUnary},
                     infer_unary<kFloatTypes>));
  return def;
}

const OpDef& op_def_Tan() {
  static const OpDef def =
      since(7, unary(OpKind::kTan, {WorkKind::kFunction, ConformanceForm::kUnary},
                     infer_unary<kFloatTypes>));
  return def;
}

const OpDef& op_def_Sign() {
  static const OpDef def =
      since(9, unary(OpKind::kSign, {WorkKind::kElementwise, ConformanceForm::kUnary},
                     infer_unary<kNumericTypes, sign_of>));
  return def;
}

const OpDef& op_def_IsInf() {
  static const OpDef def = [] {
    OpDef d = since(
        10, unary(OpKind::kIsInf, {WorkKind::kElementwise, ConformanceForm::kOwn}, infer_is_inf));
    d.attributes = attributes_of<IsInfParams>();
    return d;
  }();
  return def;
}

}  // namespace parallax
