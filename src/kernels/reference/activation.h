// Scalar activation functions as ONNX defines them, and activate(), which chooses one: for nodes of
// activations, and for epilogues, which kernels apply to their results. T is float or double, for
// clip_of() and activate() also an integer type; computed in T without wider intermediates. Pure.
// Reference kernels call these for each element; kernels/cpu/math_inl.h has vectorised forms of
// them, whose results may differ by a few ulp.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "ir/epilogue.h"

namespace parallax {

/// max(x, 0). Used for epilogues; the operator Relu, which has integers too, has its own loop.
template <class T>
T relu_of(T x) {
  return x < T{0} ? T{0} : x;  // NaN stays NaN, -0 stays -0
}
/// 1 / (1 + exp(-x)); exp may overflow to infinity, which gives 0. 0 for -inf, 1 for +inf.
template <class T>
T sigmoid_of(T x) {
  return T{1} / (T{1} + std::exp(-x));
}
/// x * sigmoid(alpha x), also known as Swish. The product with sigmoid(-inf) = 0 makes -inf a NaN
/// if alpha is positive.
template <class T>
T silu_of(T x, T alpha = T{1}) {
  return x * sigmoid_of(alpha * x);
}
/// x / 2 * (1 + erf(x / sqrt(2))). 1 + erf(z) is computed as erfc(-z), which stays accurate where
/// the sum would cancel. -inf gives NaN, as -inf * 0 does.
template <class T>
T gelu_of(T x) {
  // The factor is -1 / sqrt(2).
  return T{0.5} * x * std::erfc(x * static_cast<T>(-0.70710678118654752));
}
/// Gelu with approximate = "tanh": x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))). The
/// formula is that of Hendrycks and Gimpel (Gaussian error linear units, 2016); it is within about
/// 1e-3 of gelu_of(). -inf gives NaN.
template <class T>
T gelu_tanh_of(T x) {
  // 0.7978.. is sqrt(2 / pi).
  const T cubed = static_cast<T>(0.044715) * x * x * x;
  return T{0.5} * x * (T{1} + std::tanh(static_cast<T>(0.79788456080286536) * (x + cubed)));
}
/// x * max(0, min(1, x / 6 + 0.5)). ONNX fixes these two numbers for HardSwish, unlike for
/// HardSigmoid, which has attributes alpha and beta. The factor 1 / 6 is rounded to T before the
/// product. -inf gives NaN, as -inf * 0 does.
template <class T>
T hard_swish_of(T x) {
  return x * std::clamp(x * (T{1} / T{6}) + T{0.5}, T{0}, T{1});
}
/// Limits x to [low, high]. Returns `high` if low > high; NaN stays NaN. Bounds that are left out
/// are the lowest and greatest finite T for the operator Clip, which has integers too, and f32 for
/// epilogues (ir/epilogue.h).
template <class T>
T clip_of(T x, T low, T high) {
  if (x < low) x = low;
  return x > high ? high : x;
}

/// x; alpha x if x < 0. NaN and -0 stay. ONNX's default for alpha is 0.01; callers pass the
/// attribute.
template <class T>
T leaky_relu_of(T x, T alpha) {
  return x < T{0} ? alpha * x : x;
}
/// x; alpha (exp(x) - 1) if x < 0. The difference is computed by expm1(), which is accurate for x
/// near 0, where exp(x) - 1 would cancel.
template <class T>
T elu_of(T x, T alpha) {
  return x < T{0} ? alpha * std::expm1(x) : x;
}
/// max(0, min(1, alpha x + beta)). alpha and beta are the attributes of HardSigmoid, by default 0.2
/// and 0.5.
template <class T>
T hard_sigmoid_of(T x, T alpha, T beta) {
  return clip_of(alpha * x + beta, T{0}, T{1});
}
/// log(1 + exp(x)), as max(x, 0) + log1p(exp(-|x|)) so that exp cannot overflow. NaN gives NaN,
/// -inf gives 0.
template <class T>
T softplus_of(T x) {
  return (x > T{0} ? x : T{0}) + std::log1p(std::exp(-std::fabs(x)));
}
/// x * tanh(softplus(x)). -inf gives NaN, as -inf * 0 does.
template <class T>
T mish_of(T x) {
  return x * std::tanh(softplus_of(x));
}

/// Applies an activation of ir/activations.def; Gelu is the exact one, as passes fuse no other.
/// Returns x for kIdentity and for integer T. Kernels of products and convolutions call it once for
/// each result, after all sums and the bias, and before a result is requantised.
template <class T>
T activate(const Activation& activation, T x) {
  if constexpr (std::is_floating_point_v<T>) {
    // Parameters that an operator lacks have defaults (ir/epilogue.h).
    const auto alpha = static_cast<T>(activation.alpha), beta = static_cast<T>(activation.beta);
    switch (activation.op) {
      case OpKind::kRelu:
        return relu_of(x);
      case OpKind::kSigmoid:
        return sigmoid_of(x);
      case OpKind::kSilu:
        return silu_of(x, alpha);
      case OpKind::kTanh:
        return std::tanh(x);
      case OpKind::kGelu:
        return gelu_of(x);
      case OpKind::kHardSwish:
        return hard_swish_of(x);
      case OpKind::kClip:
        return clip_of(x, static_cast<T>(activation.low), static_cast<T>(activation.high));
      case OpKind::kLeakyRelu:
        return leaky_relu_of(x, alpha);
      case OpKind::kElu:
        return elu_of(x, alpha);
      case OpKind::kHardSigmoid:
        return hard_sigmoid_of(x, alpha, beta);
      case OpKind::kSoftplus:
        return softplus_of(x);
      case OpKind::kMish:
        return mish_of(x);
      // kIdentity; other operators are not activations.
      default:
        break;
    }
  }
  return x;
}

/// Variant for Conv and ConvTranspose of any element type T: computes in f32 and converts back.
/// Returns x for kIdentity, which these nodes have in all types but f32: passes give them
/// activations in f32 alone.
template <class T>
T activate_as(const Activation& activation, T x) {
  return activation ? static_cast<T>(activate(activation, static_cast<float>(x))) : x;
}

}  // namespace parallax
