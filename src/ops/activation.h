// Facts of activations that passes write and kernels read. Their attributes are in
// ops/params/activation.h. Pure.
#pragma once

#include "ir/op_kind.h"

namespace parallax {

/// x * Sigmoid(alpha x) with this alpha is the quick Gelu, which has kernels of its own.
/// lower/patterns/fuse_silu.cc sets exactly this number for factors within 1e-6 of it.
inline constexpr float kQuickGeluAlpha = 1.702F;

/// Returns the default of the attribute alpha, the f32 that the standard states for the operator; 1
/// for operators that are not listed. LSTM, GRU and RNN have defaults of their own
/// (ops/recurrent.h).
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
