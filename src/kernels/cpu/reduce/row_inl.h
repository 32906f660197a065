// Folding a row of f32 into one number, shared by softmax, normalisation and reductions. Included
// once per target (the guard toggles).
#include "kernels/cpu/math_inl.h"

#if defined(PX_KERNELS_CPU_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PX_KERNELS_CPU_ROW_INL_H_
#undef PX_KERNELS_CPU_ROW_INL_H_
#else
#define PX_KERNELS_CPU_ROW_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Folds map(x[i]) into one vector by combine(), from `start`, which must be neutral. Four partial
/// results hide the latency; how they are formed depends on n and the lanes only.
template <class Map, class Combine>
HWY_INLINE FloatVec fold_row(const float* x, std::size_t n, FloatVec start, Map map,
                             Combine combine) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  FloatVec a = start, b = start, c = start, e = start;
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = combine(a, map(hn::LoadU(d, x + i)));
    b = combine(b, map(hn::LoadU(d, x + i + lanes)));
    c = combine(c, map(hn::LoadU(d, x + i + 2 * lanes)));
    e = combine(e, map(hn::LoadU(d, x + i + 3 * lanes)));
  }
  for (; i + lanes <= n; i += lanes) a = combine(a, map(hn::LoadU(d, x + i)));
  if (i < n) {
    const FloatVec last = map(load_n(d, x + i, n - i));
    b = combine(b, hn::IfThenElse(hn::FirstN(d, n - i), last, start));
  }
  return combine(combine(a, b), combine(c, e));
}

/// The largest element; NaN where there is one.
HWY_INLINE FloatVec larger(FloatVec a, FloatVec b) {
  return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(b)), b, a);
}

HWY_INLINE float sum_of(FloatVec v) { return hn::GetLane(hn::SumOfLanes(FloatTag(), v)); }

template <class Map>
HWY_INLINE float sum_row(const float* x, std::size_t n, Map map) {
  const auto add = [](FloatVec a, FloatVec b) HWY_ATTR { return hn::Add(a, b); };
  return sum_of(fold_row(x, n, hn::Zero(FloatTag()), map, add));
}

HWY_INLINE float max_row(const float* x, std::size_t n) {
  const FloatTag d;
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto same = [](FloatVec v) HWY_ATTR { return v; };
  const auto most = [](FloatVec a, FloatVec b) HWY_ATTR { return larger(a, b); };
  HWY_ALIGN float lane[hn::MaxLanes(FloatTag())];
  hn::Store(fold_row(x, n, lowest, same, most), d, lane);
  float result = lane[0];
  for (std::size_t i = 1; i < hn::Lanes(d); ++i)
    result = result < lane[i] || lane[i] != lane[i] ? lane[i] : result;
  return result;
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#endif  // PX_KERNELS_CPU_ROW_INL_H_
