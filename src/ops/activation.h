// Facts of activations that passes write and kernels read.
#pragma once

#include "ir/op_kind.h"

namespace parallax {

/// x * Sigmoid(alpha x) with this alpha is the quick Gelu.
inline constexpr float kQuickGeluAlpha = 1.702F;

/// The default of the attribute alpha.
constexpr float default_alpha(OpKind op) {
  switch (op) {
    case OpKind::kHardSigmoid:
      return 0.2F;
    case OpKind::kLeakyRelu:
      return 0.01F;
    case OpKind::kSelu:
      return 1.67326319F;
    default:
      return 1.0F;
  }
}

}  // namespace parallax
