#include "kernels/cpu/attention/cosine_loops.h"

#include <limits>
#include <numbers>

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/cosine_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/power_of_two_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns the sum of a row's scores, bias and mask from column `at` on; `left` columns remain.
HWY_INLINE FloatVec sum_at(const float* x, const float* bias, const float* mask, std::size_t at,
                           std::size_t left) {
  const FloatTag d;
  const bool whole = left >= hn::Lanes(d);
  FloatVec v = hn::LoadU(d, x + at);
  if (bias != nullptr) v = hn::Add(v, whole ? hn::LoadU(d, bias + at) : load_n(d, bias + at, left));
  if (mask != nullptr) v = hn::Add(v, whole ? hn::LoadU(d, mask + at) : load_n(d, mask + at, left));
  return whole ? v
               : hn::IfThenElse(hn::FirstN(d, left), v,
                                hn::Set(d, -std::numeric_limits<float>::infinity()));
}

/// Computes rows of V vectors, the last of which may be partly filled, in registers.
template <std::size_t V>
HWY_INLINE void short_rows(const CosineScores& s) {
  const FloatTag d;
  const PowerOfTwo<true> power(std::numbers::log2e_v<float>);
  const std::size_t lanes = hn::Lanes(d);
  const float* bias = s.bias;
  const float* mask = s.mask;
  for (std::size_t r = 0; r < s.rows; ++r) {
    float* x = s.x + r * s.stride;
    FloatVec v[V];
    for (std::size_t j = 0; j < V; ++j) v[j] = sum_at(x, bias, mask, j * lanes, s.n - j * lanes);
    FloatVec most = v[0];
    for (std::size_t j = 1; j < V; ++j) most = hn::Max(most, v[j]);
    most = hn::MaxOfLanes(d, most);
    FloatVec sum = hn::Zero(d);
    for (std::size_t j = 0; j < V; ++j) {
      v[j] = power(hn::Sub(v[j], most));  // 0 after the last score
      sum = hn::Add(sum, v[j]);
    }
    const auto factor = hn::Div(hn::Set(d, 1.0F), hn::SumOfLanes(d, sum));
    for (std::size_t j = 0; j < V; ++j) hn::StoreU(hn::Mul(v[j], factor), d, x + j * lanes);
    if (bias != nullptr) bias += s.n;
    if (mask != nullptr) mask += s.n;
  }
}

HWY_INLINE void long_rows(const CosineScores& s) {
  const FloatTag d;
  const PowerOfTwo<true> power(std::numbers::log2e_v<float>);
  const std::size_t lanes = hn::Lanes(d);
  const float* bias = s.bias;
  const float* mask = s.mask;
  for (std::size_t r = 0; r < s.rows; ++r) {
    float* x = s.x + r * s.stride;
    FloatVec most = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (std::size_t i = 0; i < s.n; i += lanes) {
      const FloatVec v = sum_at(x, bias, mask, i, s.n - i);
      hn::StoreU(v, d, x + i);
      most = hn::Max(most, v);
    }
    most = hn::MaxOfLanes(d, most);
    FloatVec sum = hn::Zero(d);
    for (std::size_t i = 0; i < s.n; i += lanes) {
      const FloatVec e = power(hn::Sub(hn::LoadU(d, x + i), most));
      hn::StoreU(e, d, x + i);
      sum = hn::Add(sum, e);
    }
    const auto factor = hn::Div(hn::Set(d, 1.0F), hn::SumOfLanes(d, sum));
    for (std::size_t i = 0; i < s.n; i += lanes)
      hn::StoreU(hn::Mul(hn::LoadU(d, x + i), factor), d, x + i);
    if (bias != nullptr) bias += s.n;
    if (mask != nullptr) mask += s.n;
  }
}

/// Returns the sum of the squares of a row, which is a few vectors long.
HWY_INLINE float squares_of(const float* x, std::size_t n) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  FloatVec sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const FloatVec v = hn::LoadU(d, x + i);
    sum = hn::MulAdd(v, v, sum);
  }
  if (i < n) {
    const FloatVec v = load_n(d, x + i, n - i);
    sum = hn::MulAdd(v, v, sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace

void scale_to_unit(const UnitRows& rows) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d), n = rows.n;
  const auto epsilon = hn::Set(d, rows.epsilon);
  HWY_ALIGN float factors[hn::MaxLanes(FloatTag())] = {};
  // Roots and quotients are computed for as many rows together as a vector has lanes.
  for (std::size_t first = 0; first < rows.rows; first += lanes) {
    const std::size_t some = HWY_MIN(lanes, rows.rows - first);
    const float* x = rows.x + first * rows.stride;
    for (std::size_t r = 0; r < some; ++r) factors[r] = squares_of(x + r * rows.stride, n);
    const auto length = hn::Sqrt(hn::Load(d, factors));
    // Compares and selects: Max() would drop a length that is NaN.
    const auto divisor = hn::IfThenElse(hn::Lt(length, epsilon), epsilon, length);
    hn::Store(hn::Div(hn::Set(d, rows.factor), divisor), d, factors);
    float* y = rows.y + first * n;
    for (std::size_t r = 0; r < some; ++r, x += rows.stride, y += n) {
      const auto f = hn::Set(d, factors[r]);
      std::size_t i = 0;
      for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, x + i), f), d, y + i);
      if (i < n) store_n(hn::Mul(load_n(d, x + i, n - i), f), d, y + i, n - i);
    }
  }
}

void weigh_cosines(const CosineScores& scores) {
  switch ((scores.n + hn::Lanes(FloatTag()) - 1) / hn::Lanes(FloatTag())) {
    case 1:
      return short_rows<1>(scores);
    case 2:
      return short_rows<2>(scores);
    case 3:
      return short_rows<3>(scores);
    case 4:
      return short_rows<4>(scores);
    default:
      return long_rows(scores);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(scale_to_unit);
HWY_EXPORT(weigh_cosines);

void unit_rows(const UnitRows& rows) { HWY_DYNAMIC_DISPATCH(scale_to_unit)(rows); }

void cosine_weights(const CosineScores& scores) { HWY_DYNAMIC_DISPATCH(weigh_cosines)(scores); }

}  // namespace parallax
#endif  // HWY_ONCE
