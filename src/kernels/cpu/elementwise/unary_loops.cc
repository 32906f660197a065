#include "kernels/cpu/elementwise/unary_loops.h"

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

HWY_INLINE void map_activation(UnaryFunction f, const float* x, float* y, std::size_t n) {
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
      return map_powers(f, x, y, n);
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
      return map_activation(f, x, y, n);
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
