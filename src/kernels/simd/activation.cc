#include "kernels/simd/activation.h"

#include "ops/activation.h"

#include <string>

namespace parallax {

namespace {

std::optional<UnaryFunction> scaled_silu(float alpha) {
  if (alpha == 1.0F) return UnaryFunction::kSilu;
  if (alpha == kQuickGeluAlpha) return UnaryFunction::kQuickGelu;
  return std::nullopt;
}

}  // namespace

std::optional<UnaryFunction> unary_function(const Node& node) {
  switch (node.op) {
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
    case OpKind::kSilu:
      return scaled_silu(node.attributes.get_float("alpha", 1.0F));
    case OpKind::kGelu:
      return node.attributes.get_string("approximate", "none") == "tanh" ? UnaryFunction::kGeluTanh
                                                                         : UnaryFunction::kGeluErf;
    default:
      return std::nullopt;
  }
}

std::optional<UnaryFunction> fused_activation(const Node& node) {
  const std::string name = node.attributes.get_string("activation", "");
  if (name.empty()) return UnaryFunction::kNone;
  if (name == "Relu") return UnaryFunction::kRelu;
  if (name == "Silu") return UnaryFunction::kSilu;
  if (name == "Sigmoid") return UnaryFunction::kSigmoid;
  if (name == "Tanh") return UnaryFunction::kTanh;
  if (name == "Gelu") return UnaryFunction::kGeluErf;
  if (name == "QuickGelu") return UnaryFunction::kQuickGelu;
  return std::nullopt;
}

}  // namespace parallax
