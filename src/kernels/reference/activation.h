// Scalar activation functions, and those that Conv, MatMul and Gemm apply to their results. Pure.
#pragma once

#include <algorithm>
#include <cmath>

#include "ir/epilogue.h"

namespace parallax {

inline float relu_of(float x) { return x < 0.0F ? 0.0F : x; }  // NaN stays NaN
inline float sigmoid_of(float x) { return 1.0F / (1.0F + std::exp(-x)); }
inline float silu_of(float x, float alpha = 1) { return x * sigmoid_of(alpha * x); }
// 1 + erf(z) is erfc(-z), which keeps its digits where the two cancel.
inline float gelu_of(float x) { return 0.5F * x * std::erfc(x * -0.70710678F); }
inline float gelu_tanh_of(float x) {
  return 0.5F * x * (1.0F + std::tanh(0.79788456F * (x + 0.044715F * x * x * x)));
}

inline float hard_swish_of(float x) { return x * std::clamp(x * (1.0F / 6) + 0.5F, 0.0F, 1.0F); }
/// The upper bound wins where the bounds cross; NaN stays.
template <class T>
T clip_of(T x, T low, T high) {
  if (x < low) x = low;
  return x > high ? high : x;
}

inline float activate(const Activation& activation, float x) {
  switch (activation.op) {
    case OpKind::kRelu:
      return relu_of(x);
    case OpKind::kSigmoid:
      return sigmoid_of(x);
    case OpKind::kSilu:
      return silu_of(x, activation.alpha);
    case OpKind::kTanh:
      return std::tanh(x);
    case OpKind::kGelu:
      return gelu_of(x);
    case OpKind::kHardSwish:
      return hard_swish_of(x);
    case OpKind::kClip:
      return clip_of(x, activation.low, activation.high);
    default:
      return x;
  }
}

}  // namespace parallax
