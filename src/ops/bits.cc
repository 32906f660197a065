// Operators on the bits of integers.
#include "ops/elementwise.h"
#include "ops/params/numbers.h"

namespace parallax {

namespace {

constexpr DTypeSet kIntegerTypes = kNumericTypes & ~kFloatTypes;

std::optional<Expr> inverted(const InferContext&, std::span<const Expr> x) {
  return Expr(-1) - x[0];
}

InferResult infer_bit_shift(const InferContext& context) {
  PX_ASSIGN(const auto params, read_params<BitShiftParams>(context));
  if (!params.direction) return fail(context, "direction is missing");
  return infer_same_type<kIntegerTypes>(context);
}

}  // namespace

const OpDef& op_def_BitwiseNot() {
  static const OpDef def =
      since(18, unary(OpKind::kBitwiseNot, {WorkKind::kElementwise, ConformanceForm::kUnary},
                      infer_unary<kIntegerTypes, inverted>));
  return def;
}

const OpDef& op_def_BitwiseAnd() {
  static const OpDef def =
      since(18, elementwise(OpKind::kBitwiseAnd, {WorkKind::kElementwise, ConformanceForm::kBinary},
                            2, infer_same_type<kIntegerTypes>));
  return def;
}

const OpDef& op_def_BitwiseOr() {
  static const OpDef def =
      since(18, elementwise(OpKind::kBitwiseOr, {WorkKind::kElementwise, ConformanceForm::kBinary},
                            2, infer_same_type<kIntegerTypes>));
  return def;
}

const OpDef& op_def_BitwiseXor() {
  static const OpDef def =
      since(18, elementwise(OpKind::kBitwiseXor, {WorkKind::kElementwise, ConformanceForm::kBinary},
                            2, infer_same_type<kIntegerTypes>));
  return def;
}

/// Shifts to the right repeat the sign. A negative amount, or one not below the width, leaves what
/// is shifted in.
const OpDef& op_def_BitShift() {
  static const OpDef def = [] {
    OpDef d =
        since(11, elementwise(OpKind::kBitShift, {WorkKind::kElementwise, ConformanceForm::kOwn}, 2,
                              infer_bit_shift));
    d.attributes = attributes_of<BitShiftParams>();
    return d;
  }();
  return def;
}

}  // namespace parallax
