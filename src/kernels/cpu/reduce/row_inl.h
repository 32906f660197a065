// Folds of a row of f32 into one number, shared by softmax, normalisation and reductions. Rows are
// contiguous, at any alignment; functions do not read past them. Included once per target (the
// guard toggles).
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

/// Folds map(x[i]) into one vector with combine(), which must be associative and commutative up to
/// rounding, with `start` as its neutral element in every lane. The caller folds the lanes. Four
/// partial results hide the latency of combine(); their order depends only on n and the number of
/// lanes, so that a row always gives the same bits on machines with the same vectors. n may be 0.
/// `map` is applied to loaded vectors, `combine` to its results; both are inlined into the loop.
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
  // map() need not keep the zeros after the last element: `start` replaces them.
  if (i < n) {
    const FloatVec last = map(load_n(d, x + i, n - i));
    b = combine(b, hn::IfThenElse(hn::FirstN(d, n - i), last, start));
  }
  return combine(combine(a, b), combine(c, e));
}

/// Returns the larger operand of each lane; NaN if either is NaN.
HWY_INLINE FloatVec larger(FloatVec a, FloatVec b) {
  return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(b)), b, a);
}

/// Returns the sum of all lanes. The order of this sum is that of Highway for the target.
HWY_INLINE float sum_of(FloatVec v) { return hn::GetLane(hn::SumOfLanes(FloatTag(), v)); }

/// Returns the sum of map(x[i]) over a row, 0 if it is empty. map() must have the attributes of the
/// target (HWY_ATTR). An error grows with n / (4 * lanes), the length of a chain of additions.
template <class Map>
HWY_INLINE float sum_row(const float* x, std::size_t n, Map map) {
  const auto add = [](FloatVec a, FloatVec b) HWY_ATTR { return hn::Add(a, b); };
  return sum_of(fold_row(x, n, hn::Zero(FloatTag()), map, add));
}

/// Returns the largest element of a row: NaN if one is NaN, -inf if the row is empty.
HWY_INLINE float max_row(const float* x, std::size_t n) {
  const FloatTag d;
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto same = [](FloatVec v) HWY_ATTR { return v; };
  const auto most = [](FloatVec a, FloatVec b) HWY_ATTR { return larger(a, b); };
  // Lanes are compared one by one, since MaxOfLanes() does not return NaN on every target.
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
