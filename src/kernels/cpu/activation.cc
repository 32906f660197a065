#include "kernels/cpu/activation.h"

#include "ops/activation.h"
#include "ops/params/activation.h"

#include <string>

namespace parallax {

namespace {

std::optional<UnaryFunction> scaled_silu(float alpha) {
  if (alpha == 1.0F) return UnaryFunction::kSilu;
  if (alpha == kQuickGeluAlpha) return UnaryFunction::kQuickGelu;
  return std::nullopt;
}

/// Returns the function of an operator that has one input and no attributes; nullopt for others.
std::optional<UnaryFunction> plain_function(OpKind op) {
  switch (op) {
    case OpKind::kAbs:
      return UnaryFunction::kAbs;
    case OpKind::kNeg:
      return UnaryFunction::kNeg;
    case OpKind::kSqrt:
      return UnaryFunction::kSqrt;
    case OpKind::kReciprocal:
      return UnaryFunction::kReciprocal;
    case OpKind::kExp:
      return UnaryFunction::kExp;
    case OpKind::kLog:
      return UnaryFunction::kLog;
    case OpKind::kErf:
      return UnaryFunction::kErf;
    case OpKind::kTanh:
      return UnaryFunction::kTanh;
    case OpKind::kSigmoid:
      return UnaryFunction::kSigmoid;
    case OpKind::kRelu:
      return UnaryFunction::kRelu;
    case OpKind::kHardSwish:
      return UnaryFunction::kHardSwish;
    case OpKind::kCeil:
      return UnaryFunction::kCeil;
    case OpKind::kFloor:
      return UnaryFunction::kFloor;
    case OpKind::kRound:
      return UnaryFunction::kRound;
    case OpKind::kSign:
      return UnaryFunction::kSign;
    case OpKind::kSin:
      return UnaryFunction::kSin;
    case OpKind::kCos:
      return UnaryFunction::kCos;
    case OpKind::kSoftplus:
      return UnaryFunction::kSoftplus;
    case OpKind::kSoftsign:
      return UnaryFunction::kSoftsign;
    case OpKind::kMish:
      return UnaryFunction::kMish;
    case OpKind::kIdentity:
      return UnaryFunction::kNone;
    default:
      return std::nullopt;
  }
}

/// Returns the function of an operator whose attributes are numbers; nullopt for others.
std::optional<Unary> function_with(OpKind op, float alpha, float beta, float gamma) {
  switch (op) {
    case OpKind::kLeakyRelu:
      return Unary{UnaryFunction::kLeakyRelu, alpha};
    case OpKind::kElu:
      return Unary{UnaryFunction::kElu, alpha};
    case OpKind::kCelu:
      // If alpha is not positive, the two parts of the formula overlap.
      return alpha > 0 ? std::optional(Unary{UnaryFunction::kCelu, alpha}) : std::nullopt;
    case OpKind::kSelu:
      return Unary{UnaryFunction::kSelu, alpha, gamma};
    case OpKind::kHardSigmoid:
      return Unary{UnaryFunction::kHardSigmoid, alpha, beta};
    case OpKind::kThresholdedRelu:
      return Unary{UnaryFunction::kThresholdedRelu, alpha};
    default:
      return std::nullopt;
  }
}

std::optional<Unary> with_parameters(std::optional<UnaryFunction> f) {
  return f ? std::optional(Unary{*f}) : std::nullopt;
}

}  // namespace

std::optional<Unary> unary_function(const Node& node) {
  if (node.op == OpKind::kGelu) {
    const bool tanh = params_of<GeluParams>(node).form == GeluForm::kTanh;
    return Unary{tanh ? UnaryFunction::kGeluTanh : UnaryFunction::kGeluErf};
  }
  const float alpha = alpha_of(node);
  if (node.op == OpKind::kSilu) return with_parameters(scaled_silu(alpha));
  if (const auto f = plain_function(node.op)) return Unary{*f};
  return function_with(node.op, alpha, params_of<HardSigmoidParams>(node).beta,
                       params_of<SeluParams>(node).gamma);
}

std::optional<Unary> fused_activation(const Node& node) {
  const Activation& activation = node.epilogue.activation;
  if (activation.op == OpKind::kClip)
    return Unary{UnaryFunction::kClip, activation.low, activation.high};
  if (activation.op == OpKind::kGelu) return Unary{UnaryFunction::kGeluErf};
  if (activation.op == OpKind::kSilu) return with_parameters(scaled_silu(activation.alpha));
  if (const auto f = plain_function(activation.op)) return Unary{*f};
  return function_with(activation.op, activation.alpha, activation.beta, SeluParams().gamma);
}

}  // namespace parallax
