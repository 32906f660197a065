// Scalar activation functions, and those that Conv, MatMul and Gemm apply to their results. Pure.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "ops/activation.h"

namespace parallax {

inline float relu_of(float x) { return x < 0.0F ? 0.0F : x; }  // NaN stays NaN
inline float sigmoid_of(float x) { return 1.0F / (1.0F + std::exp(-x)); }
inline float silu_of(float x, float alpha = 1) { return x * sigmoid_of(alpha * x); }
// 1 + erf(z) is erfc(-z), which keeps its digits where the two cancel.
inline float gelu_of(float x) { return 0.5F * x * std::erfc(x * -0.70710678F); }
inline float gelu_tanh_of(float x) {
  return 0.5F * x * (1.0F + std::tanh(0.79788456F * (x + 0.044715F * x * x * x)));
}

enum class Activation : std::uint8_t { kNone, kRelu, kSigmoid, kSilu, kTanh, kGelu, kQuickGelu };

/// From the internal attribute `activation`; names were checked when the graph was made.
inline Activation activation_from(std::string_view name) {
  if (name == "Relu") return Activation::kRelu;
  if (name == "Sigmoid") return Activation::kSigmoid;
  if (name == "Silu") return Activation::kSilu;
  if (name == "Tanh") return Activation::kTanh;
  if (name == "Gelu") return Activation::kGelu;
  if (name == "QuickGelu") return Activation::kQuickGelu;
  return Activation::kNone;
}

inline float activate(Activation activation, float x) {
  switch (activation) {
    case Activation::kRelu:
      return relu_of(x);
    case Activation::kSigmoid:
      return sigmoid_of(x);
    case Activation::kSilu:
      return silu_of(x);
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kGelu:
      return gelu_of(x);
    case Activation::kQuickGelu:
      return silu_of(x, kQuickGeluAlpha);
    case Activation::kNone:
      break;
  }
  return x;
}

}  // namespace parallax
