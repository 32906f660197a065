// Scalar activation functions, and those that Conv, MatMul and Gemm apply to their results, for
// float and double. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "ir/epilogue.h"

namespace parallax {

template <class T>
T relu_of(T x) {
  return x < T{0} ? T{0} : x;  // NaN stays NaN
}
template <class T>
T sigmoid_of(T x) {
  return T{1} / (T{1} + std::exp(-x));
}
template <class T>
T silu_of(T x, T alpha = T{1}) {
  return x * sigmoid_of(alpha * x);
}
// 1 + erf(z) is erfc(-z), which keeps its digits where the two cancel.
template <class T>
T gelu_of(T x) {
  return T{0.5} * x * std::erfc(x * static_cast<T>(-0.70710678118654752));
}
template <class T>
T gelu_tanh_of(T x) {
  const T cubed = static_cast<T>(0.044715) * x * x * x;
  return T{0.5} * x * (T{1} + std::tanh(static_cast<T>(0.79788456080286536) * (x + cubed)));
}
template <class T>
T hard_swish_of(T x) {
  return x * std::clamp(x * (T{1} / T{6}) + T{0.5}, T{0}, T{1});
}
/// The upper bound wins where the bounds cross; NaN stays.
template <class T>
T clip_of(T x, T low, T high) {
  if (x < low) x = low;
  return x > high ? high : x;
}

/// x, below zero alpha x.
template <class T>
T leaky_relu_of(T x, T alpha) {
  return x < T{0} ? alpha * x : x;
}
/// x, below zero alpha (exp(x) - 1).
template <class T>
T elu_of(T x, T alpha) {
  return x < T{0} ? alpha * std::expm1(x) : x;
}
template <class T>
T hard_sigmoid_of(T x, T alpha, T beta) {
  return clip_of(alpha * x + beta, T{0}, T{1});
}
/// log(1 + exp(x)), written so that exp cannot leave the range.
template <class T>
T softplus_of(T x) {
  return (x > T{0} ? x : T{0}) + std::log1p(std::exp(-std::fabs(x)));
}
template <class T>
T mish_of(T x) {
  return x * std::tanh(softplus_of(x));
}

/// Integers have no activation.
template <class T>
T activate(const Activation& activation, T x) {
  if constexpr (std::is_floating_point_v<T>) {
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
      default:
        break;
    }
  }
  return x;
}

/// The same of other element types: passes fuse functions into f32 alone.
template <class T>
T activate_as(const Activation& activation, T x) {
  return activation ? static_cast<T>(activate(activation, static_cast<float>(x))) : x;
}

}  // namespace parallax
