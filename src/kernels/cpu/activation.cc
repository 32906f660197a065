#include "kernels/cpu/activation.h"

#include "ops/activation.h"

#include <string>

namespace parallax {

namespace {

std::optional<UnaryFunction> scaled_silu(float alpha) {
  if (alpha == 1.0F) return UnaryFunction::kSilu;
  if (alpha == kQuickGeluAlpha) return UnaryFunction::kQuickGelu;
  return std::nullopt;
}

/// Of operators without further inputs and attributes.
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
    case OpKind::kIdentity:
      return UnaryFunction::kNone;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<UnaryFunction> unary_function(const Node& node) {
  if (node.op == OpKind::kSilu) return scaled_silu(node.attributes.get_float("alpha", 1.0F));
  if (node.op != OpKind::kGelu) return plain_function(node.op);
  return node.attributes.get_string("approximate", "none") == "tanh" ? UnaryFunction::kGeluTanh
                                                                     : UnaryFunction::kGeluErf;
}

std::optional<Unary> fused_activation(const Node& node) {
  const Activation& activation = node.epilogue.activation;
  if (activation.op == OpKind::kClip)
    return Unary{UnaryFunction::kClip, activation.low, activation.high};
  std::optional<UnaryFunction> f = plain_function(activation.op);
  if (activation.op == OpKind::kGelu) f = UnaryFunction::kGeluErf;
  if (activation.op == OpKind::kSilu) f = scaled_silu(activation.alpha);
  return f ? std::optional(Unary{*f}) : std::nullopt;
}

}  // namespace parallax
