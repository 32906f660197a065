#include "kernels/cpu/elementwise/register_loops.h"

#include "kernels/cpu/targets.h"
#include "kernels/cpu/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/register_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/elementwise/extremes_inl.h"
#include "kernels/cpu/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Vectors that are processed together: enough that decoding a step costs little.
constexpr std::size_t kRegisters = 8;

/// Whole vectors, or the first elements of one.
struct WholeVectors {
  HWY_INLINE FloatVec load(const float* p) const { return hn::LoadU(FloatTag(), p); }
  HWY_INLINE void store(FloatVec v, float* p) const { hn::StoreU(v, FloatTag(), p); }
};
struct PartOfVector {
  std::size_t n;
  HWY_INLINE FloatVec load(const float* p) const { return load_n(FloatTag(), p, n); }
  HWY_INLINE void store(FloatVec v, float* p) const { store_n(v, FloatTag(), p, n); }
};

template <std::size_t kN, class F>
HWY_INLINE void map_registers(FloatVec (&x)[kN], F f) {
  PX_UNROLL
  for (std::size_t u = 0; u < kN; ++u) x[u] = f(x[u]);
}

/// Combines the registers with a second operand; `i` is the index of the first element.
template <std::size_t kN, class Access, class F>
HWY_INLINE void combine_registers(const RegisterStep& step, FloatVec (&x)[kN], std::size_t i,
                                  Access access, F f) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  switch (step.form) {
    case RegisterForm::kRight:
      PX_UNROLL
      for (std::size_t u = 0; u < kN; ++u)
        x[u] = f(x[u], access.load(step.operand + i + u * lanes));
      return;
    case RegisterForm::kLeft:
      PX_UNROLL
      for (std::size_t u = 0; u < kN; ++u)
        x[u] = f(access.load(step.operand + i + u * lanes), x[u]);
      return;
    case RegisterForm::kNumberRight: {
      const FloatVec number = hn::Set(d, *step.operand);
      return map_registers(x, [f, number](auto v) HWY_ATTR { return f(v, number); });
    }
    case RegisterForm::kNumberLeft: {
      const FloatVec number = hn::Set(d, *step.operand);
      return map_registers(x, [f, number](auto v) HWY_ATTR { return f(number, v); });
    }
    case RegisterForm::kNone:
      return map_registers(x, [f](auto v) HWY_ATTR { return f(v, v); });
  }
}

template <std::size_t kN>
HWY_INLINE void map_step(const RegisterStep& step, FloatVec (&x)[kN]) {
  switch (step.op) {
    case RegisterOp::kAbs:
      return map_registers(x, [](auto v) HWY_ATTR { return hn::Abs(v); });
    case RegisterOp::kNeg:
      return map_registers(x, [](auto v) HWY_ATTR { return hn::Neg(v); });
    case RegisterOp::kRelu:
      return map_registers(x, [](auto v) HWY_ATTR { return relu_f32(FloatTag(), v); });
    case RegisterOp::kClip:
      return map_registers(x, [low = step.low, high = step.high](auto v)
                                  HWY_ATTR { return clamp(FloatTag(), v, low, high); });
    case RegisterOp::kSqrt:
      return map_registers(x, [](auto v) HWY_ATTR { return hn::Sqrt(v); });
    case RegisterOp::kReciprocal:
      return map_registers(x,
                           [](auto v) HWY_ATTR { return hn::Div(hn::Set(FloatTag(), 1.0F), v); });
    case RegisterOp::kSquare:
      return map_registers(x, [](auto v) HWY_ATTR { return hn::Mul(v, v); });
    default:
      return map_registers(x, [](auto v) HWY_ATTR { return hn::Mul(hn::Mul(v, v), v); });
  }
}

template <std::size_t kN, class Access>
HWY_INLINE void apply_step(const RegisterStep& step, FloatVec (&x)[kN], std::size_t i,
                           Access access) {
  switch (step.op) {
    case RegisterOp::kLoad:
      return combine_registers(step, x, i, access, [](auto, auto b) HWY_ATTR { return b; });
    case RegisterOp::kAdd:
      return combine_registers(step, x, i, access,
                               [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
    case RegisterOp::kSub:
      return combine_registers(step, x, i, access,
                               [](auto a, auto b) HWY_ATTR { return hn::Sub(a, b); });
    case RegisterOp::kMul:
      return combine_registers(step, x, i, access,
                               [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
    case RegisterOp::kDiv:
      return combine_registers(step, x, i, access,
                               [](auto a, auto b) HWY_ATTR { return hn::Div(a, b); });
    case RegisterOp::kMin:
      return combine_registers(step, x, i, access,
                               [](auto a, auto b) HWY_ATTR { return smaller_f32(a, b); });
    case RegisterOp::kMax:
      return combine_registers(step, x, i, access,
                               [](auto a, auto b) HWY_ATTR { return larger_f32(a, b); });
    default:
      return map_step(step, x);
  }
}

/// All steps for kN vectors from element i on.
template <std::size_t kN, class Access>
HWY_INLINE void run_steps_at(const RegisterStep* steps, std::size_t count, std::size_t i,
                             Access access) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  FloatVec x[kN];
  PX_UNROLL
  for (std::size_t u = 0; u < kN; ++u) x[u] = hn::Zero(d);
  for (std::size_t s = 0; s < count; ++s) {
    const RegisterStep& step = steps[s];
    apply_step(step, x, i, access);
    if (step.store == nullptr) continue;
    PX_UNROLL
    for (std::size_t u = 0; u < kN; ++u) access.store(x[u], step.store + i + u * lanes);
  }
}

}  // namespace

void registers(const RegisterStep* steps, std::size_t count, std::size_t n) {
  const std::size_t lanes = hn::Lanes(FloatTag());
  std::size_t i = 0;
  for (; i + kRegisters * lanes <= n; i += kRegisters * lanes)
    run_steps_at<kRegisters>(steps, count, i, WholeVectors());
  for (; i + lanes <= n; i += lanes) run_steps_at<1>(steps, count, i, WholeVectors());
  if (i < n) run_steps_at<1>(steps, count, i, PartOfVector{n - i});
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(registers);

void run_registers(std::span<const RegisterStep> steps, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(registers)(steps.data(), steps.size(), n);
}

}  // namespace parallax
#endif  // HWY_ONCE
