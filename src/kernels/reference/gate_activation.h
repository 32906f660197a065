// Activation functions of the gates of LSTM, GRU and RNN, as ONNX defines them, one number at a
// time. Pure. The reference kernel of the three operators calls it for each gate and step;
// kernels/cpu/recurrent has vectorised forms in f32.
#pragma once

#include <algorithm>
#include <cmath>

#include "ops/recurrent.h"

namespace parallax {

/// Applies `activation` to x, which the caller has already limited to [-clip, clip]. Alpha and beta
/// have their defaults filled in (ops/recurrent.h). Computes in double whatever the tensors' type
/// is. NaN yields NaN. Defaults are those of the operators of the same name, e.g. 0.2 and 0.5 of
/// HardSigmoid and 0.01 of LeakyRelu. Functions that are no operators, Affine and ScaledTanh, have
/// defaults that change nothing: alpha 1, beta 0 for Affine and 1 for ScaledTanh. Softsign of an
/// infinity is NaN, as its quotient is.
inline double gate_of(const GateActivation& activation, double x) {
  // Functions without parameters ignore them.
  const auto alpha = static_cast<double>(activation.alpha);
  const auto beta = static_cast<double>(activation.beta);
  switch (activation.function) {
    case GateFunction::kAffine:
      return alpha * x + beta;
    case GateFunction::kElu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case GateFunction::kHardSigmoid:
      return std::clamp(alpha * x + beta, 0.0, 1.0);
    case GateFunction::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case GateFunction::kRelu:
      return x < 0 ? 0 : x;
    case GateFunction::kScaledTanh:
      return alpha * std::tanh(beta * x);
    case GateFunction::kSigmoid:
      return 1 / (1 + std::exp(-x));
    // log(1 + exp(x)), written so that exp cannot overflow.
    case GateFunction::kSoftplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case GateFunction::kSoftsign:
      return x / (1 + std::abs(x));
    case GateFunction::kTanh:
      return std::tanh(x);
    case GateFunction::kThresholdedRelu:
      return x < alpha ? 0 : x;
  }
  return x;
}

}  // namespace parallax
