// Functions of two or more elements with numpy broadcasting.
#include "ops/elementwise.h"
#include "ops/params/numbers.h"

namespace parallax {

namespace {

std::optional<Expr> add(const InferContext&, std::span<const Expr> x) { return x[0] + x[1]; }
std::optional<Expr> subtract(const InferContext&, std::span<const Expr> x) { return x[0] - x[1]; }
std::optional<Expr> multiply(const InferContext&, std::span<const Expr> x) { return x[0] * x[1]; }

/// Integer Div truncates, floor_div rounds down: the same if nothing is negative.
std::optional<Expr> divide(const InferContext&, std::span<const Expr> x) {
  if (x[1] == Expr(1)) return x[0];
  const auto a = x[0].constant();
  const auto b = x[1].constant();
  if (b == 0) return std::nullopt;
  if (a && b) {
    if (*b == -1) return Expr(0) - x[0];
    return Expr(*a / *b);
  }
  if (!is_non_negative(x[0]) || !is_non_negative(x[1])) return std::nullopt;
  return floor_div(x[0], x[1]);
}

std::optional<Expr> modulo(const InferContext& context, std::span<const Expr> x) {
  const auto a = x[0].constant();
  const auto b = x[1].constant();
  if (b == 0) return std::nullopt;
  const bool like_c = params_of<ModParams>(context.node).fmod;
  if (!like_c) return mod(x[0], x[1]);
  if (a && b) return Expr(*b == -1 ? 0 : *a % *b);
  if (!is_non_negative(x[0]) || !is_non_negative(x[1])) return std::nullopt;
  return mod(x[0], x[1]);
}

std::optional<Expr> smallest(const InferContext&, std::span<const Expr> x) {
  Expr result = x[0];
  for (const Expr& element : x.subspan(1)) result = min(result, element);
  return result;
}

std::optional<Expr> largest(const InferContext&, std::span<const Expr> x) {
  Expr result = x[0];
  for (const Expr& element : x.subspan(1)) result = max(result, element);
  return result;
}

InferResult infer_mod(const InferContext& context) {
  PX_RETURN_IF_ERROR(read_params<ModParams>(context));
  return infer_same_type<kNumericTypes, modulo>(context);
}

/// The result has the base's dtype; the exponent may have another.
InferResult infer_pow(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kWideTypes & kSignedTypes));
  PX_RETURN_IF_ERROR(expect_dtype(context, 1, kNumericTypes));
  PX_ASSIGN(Shape shape, broadcast_inputs(context));
  return one_output(context.inputs[0].dtype, std::move(shape));
}

std::optional<Expr> equal(const InferContext&, std::span<const Expr> x) {
  if (x[0] == x[1]) return Expr(1);
  const Expr difference = x[0] - x[1];
  if (is_negative(difference) || is_negative(Expr(0) - difference)) return Expr(0);
  return std::nullopt;
}

std::optional<Expr> less(const InferContext&, std::span<const Expr> x) {
  if (is_negative(x[0] - x[1])) return Expr(1);
  if (is_non_negative(x[0] - x[1])) return Expr(0);
  return std::nullopt;
}

std::optional<Expr> less_or_equal(const InferContext&, std::span<const Expr> x) {
  if (is_negative(x[1] - x[0])) return Expr(0);
  if (is_non_negative(x[1] - x[0])) return Expr(1);
  return std::nullopt;
}

std::optional<Expr> greater(const InferContext& context, std::span<const Expr> x) {
  const Expr swapped[] = {x[1], x[0]};
  return less(context, swapped);
}

std::optional<Expr> greater_or_equal(const InferContext& context, std::span<const Expr> x) {
  const Expr swapped[] = {x[1], x[0]};
  return less_or_equal(context, swapped);
}

std::optional<Expr> both(const InferContext&, std::span<const Expr> x) { return min(x[0], x[1]); }
std::optional<Expr> either(const InferContext&, std::span<const Expr> x) { return max(x[0], x[1]); }

std::optional<Expr> one_of(const InferContext&, std::span<const Expr> x) {
  return x[0] + x[1] - Expr(2) * x[0] * x[1];
}

std::optional<Expr> choose(const InferContext&, std::span<const Expr> x) {
  if (x[1] == x[2]) return x[1];
  const auto condition = x[0].constant();
  if (!condition) return std::nullopt;
  return *condition != 0 ? x[1] : x[2];
}

InferResult infer_where(const InferContext& context) {
  PX_RETURN_IF_ERROR(expect_dtype(context, 0, kBoolTypes));
  if (context.inputs[1].dtype != context.inputs[2].dtype) {
    return fail(context, "inputs 1 and 2 must have one dtype");
  }
  PX_ASSIGN(Shape shape, broadcast_inputs(context));
  Content content = elementwise_content(context, shape, choose);
  return one_output(context.inputs[1].dtype, std::move(shape), std::move(content));
}

}  // namespace

Result<Shape> broadcast_inputs(const InferContext& context) {
  Shape shape;
  for (const InferInput& input : context.inputs) {
    if (!input.present) continue;
    PX_ASSIGN(shape, broadcast(shape, input.shape, context));
  }
  return shape;
}

OpDef elementwise(OpKind kind, const ElementwiseTraits& traits, int inputs,
                  InferResult (*infer)(const InferContext&)) {
  OpDef def(kind, traits);
  def.min_inputs = inputs < 0 ? 1 : inputs;
  def.max_inputs = inputs;
  def.infer = infer;
  def.macs = macs_per_output;
  def.elementwise = true;
  return def;
}

const OpDef& op_def_Add() {
  static const OpDef def =
      elementwise(OpKind::kAdd, {WorkKind::kElementwise, ConformanceForm::kBinary}, 2,
                  infer_same_type<kNumericTypes, add>);
  return def;
}

const OpDef& op_def_Sub() {
  static const OpDef def =
      elementwise(OpKind::kSub, {WorkKind::kElementwise, ConformanceForm::kBinary}, 2,
                  infer_same_type<kNumericTypes, subtract>);
  return def;
}

const OpDef& op_def_Mul() {
  static const OpDef def =
      elementwise(OpKind::kMul, {WorkKind::kElementwise, ConformanceForm::kBinary}, 2,
                  infer_same_type<kNumericTypes, multiply>);
  return def;
}

const OpDef& op_def_Div() {
  static const OpDef def =
      elementwise(OpKind::kDiv, {WorkKind::kElementwise, ConformanceForm::kDivision}, 2,
                  infer_same_type<kNumericTypes, divide>);
  return def;
}

const OpDef& op_def_Mod() {
  static const OpDef def = [] {
    OpDef d =
        elementwise(OpKind::kMod, {WorkKind::kElementwise, ConformanceForm::kOwn}, 2, infer_mod);
    d.since = 10;
    d.attributes = attributes_of<ModParams>();
    return d;
  }();
  return def;
}

const OpDef& op_def_Pow() {
  static const OpDef def =
      elementwise(OpKind::kPow, {WorkKind::kFunction, ConformanceForm::kOwn}, 2, infer_pow);
  return def;
}

const OpDef& op_def_Min() {
  static const OpDef def =
      elementwise(OpKind::kMin, {WorkKind::kElementwise, ConformanceForm::kOwn}, -1,
                  infer_same_type<kNumericTypes, smallest>);
  return def;
}

const OpDef& op_def_Max() {
  static const OpDef def =
      elementwise(OpKind::kMax, {WorkKind::kElementwise, ConformanceForm::kOwn}, -1,
                  infer_same_type<kNumericTypes, largest>);
  return def;
}

const OpDef& op_def_Equal() {
  static const OpDef def =
      elementwise(OpKind::kEqual, {WorkKind::kElementwise, ConformanceForm::kComparison}, 2,
                  infer_predicate<kAllTypes, equal>);
  return def;
}

const OpDef& op_def_Less() {
  static const OpDef def =
      elementwise(OpKind::kLess, {WorkKind::kElementwise, ConformanceForm::kComparison}, 2,
                  infer_predicate<kNumericTypes, less>);
  return def;
}

const OpDef& op_def_LessOrEqual() {
  static const OpDef def = since(
      12, elementwise(OpKind::kLessOrEqual, {WorkKind::kElementwise, ConformanceForm::kComparison},
                      2, infer_predicate<kNumericTypes, less_or_equal>));
  return def;
}

const OpDef& op_def_Greater() {
  static const OpDef def =
      elementwise(OpKind::kGreater, {WorkKind::kElementwise, ConformanceForm::kComparison}, 2,
                  infer_predicate<kNumericTypes, greater>);
  return def;
}

const OpDef& op_def_GreaterOrEqual() {
  static const OpDef def =
      since(12, elementwise(OpKind::kGreaterOrEqual,
                            {WorkKind::kElementwise, ConformanceForm::kComparison}, 2,
                            infer_predicate<kNumericTypes, greater_or_equal>));
  return def;
}

const OpDef& op_def_And() {
  static const OpDef def =
      elementwise(OpKind::kAnd, {WorkKind::kElementwise, ConformanceForm::kBinary}, 2,
                  infer_predicate<kBoolTypes, both>);
  return def;
}

const OpDef& op_def_Or() {
  static const OpDef def =
      elementwise(OpKind::kOr, {WorkKind::kElementwise, ConformanceForm::kBinary}, 2,
                  infer_predicate<kBoolTypes, either>);
  return def;
}

const OpDef& op_def_Xor() {
  static const OpDef def =
      elementwise(OpKind::kXor, {WorkKind::kElementwise, ConformanceForm::kBinary}, 2,
                  infer_predicate<kBoolTypes, one_of>);
  return def;
}

const OpDef& op_def_Where() {
  static const OpDef def = since(
      9,
      elementwise(OpKind::kWhere, {WorkKind::kElementwise, ConformanceForm::kOwn}, 3, infer_where));
  return def;
}

}  // namespace parallax
