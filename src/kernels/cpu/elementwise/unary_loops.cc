#include "kernels/cpu/elementwise/unary_loops.h"

#include <cmath>
#include <limits>

#include "kernels/cpu/targets.h"
#include "ops/activation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/unary_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class F>
HWY_INLINE void map(const float* x, float* y, std::size_t n, F f) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  // Two independent vectors at a time hide the latency of the polynomials.
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto a = f(d, hn::LoadU(d, x + i));
    const auto b = f(d, hn::LoadU(d, x + i + lanes));
    hn::StoreU(a, d, y + i);
    hn::StoreU(b, d, y + i + lanes);
  }
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(d, hn::LoadU(d, x + i)), d, y + i);
  if (i < n) store_n(f(d, load_n(d, x + i, n - i)), d, y + i, n - i);
}

HWY_INLINE void map_powers(UnaryFunction f, const float* x, float* y, std::size_t n) {
  switch (f) {
    case UnaryFunction::kSquare:
      return map(x, y, n, [](auto, auto v) HWY_ATTR { return hn::Mul(v, v); });
    case UnaryFunction::kCube:
      return map(x, y, n, [](auto, auto v) HWY_ATTR { return hn::Mul(hn::Mul(v, v), v); });
    default:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR {
        const auto inf = hn::Set(d, std::numeric_limits<float>::infinity());
        const auto root = hn::Add(hn::Sqrt(v), hn::Zero(d));
        return hn::IfThenElse(hn::Eq(v, hn::Neg(inf)), inf, root);
      });
  }
}

/// Returns the sine of each lane of x + quarter * pi / 2; `exact` is libm's function of x. Lanes
/// that the polynomials do not reach are few: they alone are computed one by one, so that a result
/// does not depend on its neighbours.
template <class F>
HWY_INLINE FloatVec sine_or(FloatTag d, FloatVec x, std::int32_t quarter, F exact) {
  const auto near = hn::Lt(hn::Abs(x), hn::Set(d, 8192.0F));
  const auto fast = sine_f32(d, x, quarter);
  if (HWY_LIKELY(hn::AllTrue(d, near))) return fast;
  HWY_ALIGN float lanes[hn::MaxLanes(FloatTag())];
  hn::Store(x, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i)
    if (!(std::abs(lanes[i]) < 8192.0F)) lanes[i] = exact(lanes[i]);
  return hn::IfThenElse(near, fast, hn::Load(d, lanes));
}

HWY_INLINE void map_rounding(UnaryFunction f, const float* x, float* y, std::size_t n) {
  switch (f) {
    case UnaryFunction::kCeil:
      return map(x, y, n, [](auto, auto v) HWY_ATTR { return hn::Ceil(v); });
    case UnaryFunction::kFloor:
      return map(x, y, n, [](auto, auto v) HWY_ATTR { return hn::Floor(v); });
    case UnaryFunction::kRound:
      return map(x, y, n, [](auto, auto v) HWY_ATTR { return hn::Round(v); });
    case UnaryFunction::kSign:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR {
        const auto sign = hn::CopySign(hn::Set(d, 1.0F), v);
        const auto other = hn::Eq(v, hn::Zero(d));
        return hn::IfThenElse(hn::IsNaN(v), v, hn::IfThenZeroElse(other, sign));
      });
    case UnaryFunction::kSin:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR {
        return sine_or(d, v, 0, [](float a) { return std::sin(a); });
      });
    case UnaryFunction::kCos:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR {
        return sine_or(d, v, 1, [](float a) { return std::cos(a); });
      });
    default:
      return map_powers(f, x, y, n);
  }
}

HWY_INLINE void map_linear_unit(UnaryFunction f, const float* x, float* y, std::size_t n, float p0,
                                float p1) {
  switch (f) {
    case UnaryFunction::kLeakyRelu:
      return map(x, y, n, [p0](auto d, auto v) HWY_ATTR { return leaky_relu_f32(d, v, p0); });
    case UnaryFunction::kElu:
      return map(x, y, n, [p0](auto d, auto v) HWY_ATTR { return elu_f32(d, v, p0); });
    case UnaryFunction::kCelu:
      return map(x, y, n, [p0](auto d, auto v) HWY_ATTR {
        const auto below = hn::Mul(hn::Set(d, p0), expm1_f32(d, hn::Div(v, hn::Set(d, p0))));
        return hn::IfThenElse(hn::Lt(v, hn::Zero(d)), below, v);
      });
    case UnaryFunction::kSelu:
      return map(x, y, n, [p0, p1](auto d, auto v) HWY_ATTR {
        const auto below = hn::Mul(hn::Set(d, p0), expm1_f32(d, v));
        return hn::Mul(hn::Set(d, p1), hn::IfThenElse(hn::Gt(v, hn::Zero(d)), v, below));
      });
    case UnaryFunction::kHardSigmoid:
      return map(x, y, n,
                 [p0, p1](auto d, auto v) HWY_ATTR { return hard_sigmoid_f32(d, v, p0, p1); });
    case UnaryFunction::kThresholdedRelu:
      return map(x, y, n, [p0](auto d, auto v) HWY_ATTR {
        return hn::IfThenElseZero(hn::Gt(v, hn::Set(d, p0)), v);
      });
    case UnaryFunction::kSoftplus:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR { return softplus_f32(d, v); });
    case UnaryFunction::kSoftsign:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR {
        return hn::Div(v, hn::Add(hn::Abs(v), hn::Set(d, 1.0F)));
      });
    case UnaryFunction::kMish:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR { return mish_f32(d, v); });
    default:
      return map_rounding(f, x, y, n);
  }
}

HWY_INLINE void map_activation(UnaryFunction f, const float* x, float* y, std::size_t n, float p0,
                               float p1) {
  switch (f) {
    case UnaryFunction::kErf:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR { return erf_f32(d, v); });
    case UnaryFunction::kTanh:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR { return tanh_f32(d, v); });
    case UnaryFunction::kSigmoid:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR { return sigmoid_f32(d, v); });
    case UnaryFunction::kSilu:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR { return silu_f32(d, v); });
    case UnaryFunction::kGeluErf:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR { return gelu_erf_f32(d, v); });
    case UnaryFunction::kQuickGelu:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR { return silu_f32(d, v, kQuickGeluAlpha); });
    case UnaryFunction::kHardSwish:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR { return hard_swish_f32(d, v); });
    case UnaryFunction::kGeluTanh:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR { return gelu_tanh_f32(d, v); });
    default:
      return map_linear_unit(f, x, y, n, p0, p1);
  }
}

void unary(UnaryFunction f, const float* x, float* y, std::size_t n, float p0, float p1) {
  switch (f) {
    case UnaryFunction::kNone:
      return map(x, y, n, [](auto, auto v) HWY_ATTR { return v; });
    case UnaryFunction::kAbs:
      return map(x, y, n, [](auto, auto v) HWY_ATTR { return hn::Abs(v); });
    case UnaryFunction::kNeg:
      return map(x, y, n, [](auto, auto v) HWY_ATTR { return hn::Neg(v); });
    case UnaryFunction::kSqrt:
      return map(x, y, n, [](auto, auto v) HWY_ATTR { return hn::Sqrt(v); });
    case UnaryFunction::kReciprocal:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR { return hn::Div(hn::Set(d, 1.0F), v); });
    case UnaryFunction::kExp:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR { return exp_f32(d, v); });
    case UnaryFunction::kLog:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR { return log_f32(d, v); });
    case UnaryFunction::kRelu:
      return map(x, y, n, [](auto d, auto v) HWY_ATTR { return relu_f32(d, v); });
    case UnaryFunction::kClip:
      return map(x, y, n, [p0, p1](auto d, auto v) HWY_ATTR { return clamp(d, v, p0, p1); });
    default:
      return map_activation(f, x, y, n, p0, p1);
  }
}

void unary_rows(const Unary& u, float* x, std::size_t stride, std::size_t rows, std::size_t n) {
  for (std::size_t i = 0; i < rows; ++i) unary(u.f, x + i * stride, x + i * stride, n, u.p0, u.p1);
}

void normalize_elements(const float* x, float* y, std::size_t n, float center, float scale,
                        float bias) {
  map(x, y, n, [center, scale, bias](auto d, auto v) HWY_ATTR {
    return hn::MulAdd(hn::Sub(v, hn::Set(d, center)), hn::Set(d, scale), hn::Set(d, bias));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(unary);
HWY_EXPORT(unary_rows);
HWY_EXPORT(normalize_elements);

void apply_unary(const Unary& u, const float* x, float* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(unary)(u.f, x, y, n, u.p0, u.p1);
}

void apply_unary_rows(const Unary& u, float* x, std::size_t stride, std::size_t rows,
                      std::size_t n) {
  HWY_DYNAMIC_DISPATCH(unary_rows)(u, x, stride, rows, n);
}

void normalize(const float* x, float* y, std::size_t n, float center, float scale, float bias) {
  HWY_DYNAMIC_DISPATCH(normalize_elements)(x, y, n, center, scale, bias);
}

}  // namespace parallax
#endif  // HWY_ONCE
