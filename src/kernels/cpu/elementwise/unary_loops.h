// Element-wise functions of one f32 tensor, for the instruction set of this machine. Thread-safe. A
// vector is computed at a time, the last one masked. Approximations are those of cpu/math_inl.h,
// whose bits depend on the instruction set. kSin and kCos use libm for all elements of a vector if
// one of them is beyond 8192.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// Functions without a comment are the ONNX operators of that name. Parameters p0 and p1 are those
/// of Unary.
enum class UnaryFunction : std::uint8_t {
  kNone,  ///< identity
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
  kClip,       ///< limited to [p0, p1]
  kSquare,     ///< x * x
  kCube,       ///< x * x * x
  kCeil,       ///< towards +inf
  kFloor,      ///< towards -inf
  kRound,      ///< to the nearest integer, ties to even
  kSign,       ///< -1, 0 or 1
  kSin,
  kCos,
  kLeakyRelu,        ///< x, below zero p0 x
  kElu,              ///< x, below zero p0 (e^x - 1)
  kCelu,             ///< x, below zero p0 (e^(x / p0) - 1), p0 > 0
  kSelu,             ///< p1 x, up to zero p1 p0 (e^x - 1)
  kHardSigmoid,      ///< p0 x + p1 within [0, 1]
  kThresholdedRelu,  ///< x above p0, else 0
  kSoftplus,         ///< log(1 + e^x)
  kSoftsign,         ///< x / (1 + |x|)
  kMish,             ///< x tanh(softplus(x))
  kPowHalf,          ///< pow(x, 0.5), which is not sqrt(x) for -inf and -0
};

/// A function with its parameters, whose meaning UnaryFunction says; unused ones are 0. Bounds of
/// Clip may be infinite; p0 > p1 gives p1.
struct Unary {
  UnaryFunction f = UnaryFunction::kNone;
  float p0 = 0, p1 = 0;

  friend bool operator==(const Unary& unary, UnaryFunction wanted) { return unary.f == wanted; }
};

/// Computes y[i] = f(x[i]) for i < n; x may be y, otherwise they must not overlap. x and y need the
/// alignment of a float only; elements past the n-th are neither read nor written.
void apply_unary(const Unary& unary, const float* x, float* y, std::size_t n);

/// Applies the function in place to `rows` rows of `n` elements that begin `stride` elements apart.
/// For epilogues of products, whose results are in a cache. REQUIRES: stride >= n, or rows is at
/// most 1.
void apply_unary_rows(const Unary& unary, float* x, std::size_t stride, std::size_t rows,
                      std::size_t n);

/// Computes y[i] = (x[i] - center) * scale + bias for i < n; x may be y. The sum is fused with the
/// product (one rounding) on targets that can do so. Normalisations use it, whose parameters belong
/// to a whole row or plane.
void normalize(const float* x, float* y, std::size_t n, float center, float scale, float bias);

}  // namespace parallax
