// Steps of an ElementwiseChain that keep their results in registers: cheap functions of f32, each
// of which reads the result of the one before. Plain values. Chains of other libraries than
// kernels/cpu run no step in this way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace parallax {

/// Function of a step. `x` is the value in registers, `operand` the one in memory (RegisterForm).
/// Each rounds as the loop of its operator does: kMin and kMax give NaN if an operand is NaN, kRelu
/// and kClip keep NaN, and kCube rounds after each of its two products.
enum class RegisterOp : std::uint8_t {
  /// Loads the operand into the registers; its form is kRight or kNumberRight.
  kLoad,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMin,
  kMax,
  kAbs,
  kNeg,
  kRelu,
  /// Limits x to [low, high], RegisterStep's bounds.
  kClip,
  kSqrt,
  kReciprocal,  ///< 1 / x
  kSquare,      ///< x * x
  kCube,        ///< x * x * x
};

/// Position of the operand that is read from memory; the other one is in registers.
enum class RegisterForm : std::uint8_t {
  kNone,         ///< no such operand: unary functions, or both operands are the registers
  kRight,        ///< the second operand, n elements
  kLeft,         ///< the first operand, n elements
  kNumberRight,  ///< the second operand, one number for all elements
  kNumberLeft,   ///< the first operand, one number for all elements
};

/// One function with its operand. Memory belongs to the caller and may be unaligned for vectors.
/// Two steps may share memory only if the addresses are equal: then element i is read and written
/// by the same lane.
struct RegisterStep {
  RegisterOp op = RegisterOp::kLoad;
  RegisterForm form = RegisterForm::kNone;
  /// Bounds of kClip; other functions ignore them.
  float low = 0, high = 0;
  /// Null for kNone. One f32 for the two kNumber forms, n for kRight and kLeft.
  const float* operand = nullptr;
  /// Also receives the result; null: only the next step reads it. n elements. The last step must
  /// have it, as its result would be lost.
  float* store = nullptr;
};

/// Runs the steps for n elements, some vectors at a time. Writes no element past the n-th of any
/// `store`, and reads none past the n-th of any `operand`. Steps may be any number; n may be 0.
/// Called from many threads concurrently. REQUIRES: the first step is kLoad.
using RunRegisters = void (*)(std::span<const RegisterStep> steps, std::size_t n);

}  // namespace parallax
