// Activations that have numbers as attributes, and PRelu, whose slope is a tensor.
#include <utility>

#include "ops/elementwise.h"
#include "ops/params/activation.h"

namespace parallax {

namespace {

OpDef activation(int opset, OpKind kind, const ElementwiseTraits& traits,
                 std::vector<AttributeSpec> attributes = {}) {
  OpDef def = since(opset, unary(kind, traits, infer_unary<kFloatTypes>));
  def.attributes = std::move(attributes);
  return def;
}

/// The standard has slopes that broadcast to x alone; both ways does no harm.
InferResult infer_prelu(const InferContext& context) { return infer_same_type<kSumTypes>(context); }

}  // namespace

/// max(0, x) + min(0, alpha (exp(x / alpha) - 1)).
const OpDef& op_def_Celu() {
  static const OpDef def =
      activation(12, OpKind::kCelu, {WorkKind::kFunction, ConformanceForm::kUnary},
                 attributes_of<AlphaParams>());
  return def;
}

/// x, below zero alpha (exp(x) - 1).
const OpDef& op_def_Elu() {
  static const OpDef def =
      activation(1, OpKind::kElu, {WorkKind::kFunction, ConformanceForm::kUnary},
                 attributes_of<AlphaParams>());
  return def;
}

/// max(0, min(1, alpha x + beta)).
const OpDef& op_def_HardSigmoid() {
  static const OpDef def =
      activation(1, OpKind::kHardSigmoid, {WorkKind::kElementwise, ConformanceForm::kUnary},
                 attributes_of<HardSigmoidParams>());
  return def;
}

/// x, below zero alpha x.
const OpDef& op_def_LeakyRelu() {
  static const OpDef def =
      activation(1, OpKind::kLeakyRelu, {WorkKind::kElementwise, ConformanceForm::kUnary},
                 attributes_of<AlphaParams>());
  return def;
}

/// x tanh(log(1 + exp(x))).
const OpDef& op_def_Mish() {
  static const OpDef def =
      activation(18, OpKind::kMish, {WorkKind::kFunction, ConformanceForm::kUnary});
  return def;
}

/// gamma x, up to zero gamma alpha (exp(x) - 1).
const OpDef& op_def_Selu() {
  static const OpDef def =
      activation(1, OpKind::kSelu, {WorkKind::kFunction, ConformanceForm::kUnary},
                 attributes_of<SeluParams>());
  return def;
}

/// log(1 + exp(x)).
const OpDef& op_def_Softplus() {
  static const OpDef def =
      activation(1, OpKind::kSoftplus, {WorkKind::kFunction, ConformanceForm::kUnary});
  return def;
}

/// x / (1 + |x|).
const OpDef& op_def_Softsign() {
  static const OpDef def =
      activation(1, OpKind::kSoftsign, {WorkKind::kElementwise, ConformanceForm::kUnary});
  return def;
}

/// x where it is above alpha, else 0.
const OpDef& op_def_ThresholdedRelu() {
  static const OpDef def =
      activation(10, OpKind::kThresholdedRelu, {WorkKind::kElementwise, ConformanceForm::kUnary},
                 attributes_of<AlphaParams>());
  return def;
}

/// x + bias below -lambd, x - bias above lambd, else 0.
const OpDef& op_def_Shrink() {
  static const OpDef def = [] {
    OpDef d = activation(9, OpKind::kShrink, {WorkKind::kElementwise, ConformanceForm::kUnary},
                         attributes_of<ShrinkParams>());
    d.infer = infer_unary<kNumericTypes>;
    return d;
  }();
  return def;
}

/// x, below zero slope x.
const OpDef& op_def_PRelu() {
  static const OpDef def =
      elementwise(OpKind::kPRelu, {WorkKind::kElementwise, ConformanceForm::kOwn}, 2, infer_prelu);
  return def;
}

}  // namespace parallax
