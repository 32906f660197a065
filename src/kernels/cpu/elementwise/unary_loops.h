// Elementwise functions of one f32 tensor, for the instruction set of this machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

enum class UnaryFunction : std::uint8_t {
  kNone,
  kAbs,
  kNeg,
  kSqrt,
  kReciprocal,
  kExp,
  kLog,
  kErf,
  kTanh,
  kSigmoid,
  kRelu,
  kSilu,
  kGeluErf,
  kGeluTanh,
  kQuickGelu,  ///< x * sigmoid(1.702 x)
  kHardSwish,  ///< x * max(0, min(1, x / 6 + 1 / 2))
  kClip,       ///< within [p0, p1]
  kSquare,
  kCube,
  kCeil,
  kFloor,
  kRound,  ///< halves to the even neighbour
  kSign,
  kSin,
  kCos,
  kLeakyRelu,        ///< x, below zero p0 x
  kElu,              ///< x, below zero p0 (e^x - 1)
  kCelu,             ///< x, below zero p0 (e^(x / p0) - 1), p0 > 0
  kSelu,             ///< p1 x, up to zero p1 p0 (e^x - 1)
  kHardSigmoid,      ///< p0 x + p1 within [0, 1]
  kThresholdedRelu,  ///< x above p0, else 0
  kSoftplus,
  kSoftsign,
  kMish,
  kPowHalf,  ///< pow(x, 0.5), which is not sqrt(x) for -inf and -0
};

/// A function with its parameters.
struct Unary {
  UnaryFunction f = UnaryFunction::kNone;
  float p0 = 0, p1 = 0;

  friend bool operator==(const Unary& unary, UnaryFunction wanted) { return unary.f == wanted; }
};

/// y[i] = f(x[i]) for i < n; x may be y, else they do not overlap.
void apply_unary(const Unary& unary, const float* x, float* y, std::size_t n);

/// The same in place, for `rows` rows of `n` elements that lie `stride` elements apart.
void apply_unary_rows(const Unary& unary, float* x, std::size_t stride, std::size_t rows,
                      std::size_t n);

/// y[i] = (x[i] - center) * scale + bias; x may be y.
void normalize(const float* x, float* y, std::size_t n, float center, float scale, float bias);

}  // namespace parallax
