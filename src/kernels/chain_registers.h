// Steps of an ElementwiseChain that keep their results in registers: cheap functions of f32, of
// which each reads what the one before gave. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace parallax {

enum class RegisterOp : std::uint8_t {
  kLoad,  ///< takes the operand as it is
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMin,
  kMax,
  kAbs,
  kNeg,
  kRelu,
  kClip,  ///< within [low, high]
  kSqrt,
  kReciprocal,
  kSquare,
  kCube,
};

/// Position of the operand that is read from memory; the other one is in registers.
enum class RegisterForm : std::uint8_t {
  kNone,         ///< no such operand: unary functions, or both operands are the registers
  kRight,        ///< the second operand
  kLeft,         ///< the first
  kNumberRight,  ///< likewise, one number for all elements
  kNumberLeft,
};

struct RegisterStep {
  RegisterOp op = RegisterOp::kLoad;
  RegisterForm form = RegisterForm::kNone;
  float low = 0, high = 0;
  const float* operand = nullptr;
  float* store = nullptr;  ///< also receives the result; null: only the next step reads it
};

/// Runs the steps for n elements, some vectors at a time. The first is kLoad.
using RunRegisters = void (*)(std::span<const RegisterStep> steps, std::size_t n);

}  // namespace parallax
