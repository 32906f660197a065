// Steps of an ElementwiseChain that keep their results in registers: cheap functions of f32, each
// of which reads the result of the one before. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace parallax {

/// Function of a step. `x` is the value in registers, `operand` the one in memory (RegisterForm).
enum class RegisterOp : std::uint8_t {
  kLoad,  ///< loads the operand into the registers
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMin,
  kMax,
  kAbs,
  kNeg,
  kRelu,
  kClip,  ///< limits x to [low, high]
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
struct RegisterStep {
  RegisterOp op = RegisterOp::kLoad;
  RegisterForm form = RegisterForm::kNone;
  float low = 0, high = 0;         ///< bounds of kClip
  const float* operand = nullptr;  ///< null for kNone
  float* store = nullptr;          ///< also receives the result; null: only the next step reads it
};

/// Runs the steps for n elements, some vectors at a time. REQUIRES: the first step is kLoad.
using RunRegisters = void (*)(std::span<const RegisterStep> steps, std::size_t n);

}  // namespace parallax
