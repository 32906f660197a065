#include "kernels/cpu/attention/attention_loops.h"

#include <limits>
#include <numbers>

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/attention_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/power_of_two_inl.h"
#include "kernels/cpu/reduce/row_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void scale_row(float* y, std::size_t n, float factor) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto f = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, y + i), f), d, y + i);
  if (i < n) store_n(hn::Mul(load_n(d, y + i, n - i), f), d, y + i, n - i);
}

/// Returns the maximum, lane by lane, of a row that is padded with -inf to whole vectors.
HWY_INLINE FloatVec largest_of(const float* x, std::size_t n) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  auto a = hn::Load(d, x), b = a;
  std::size_t i = lanes;
  for (; i + lanes < n; i += 2 * lanes) {
    a = hn::Max(a, hn::Load(d, x + i));
    b = hn::Max(b, hn::Load(d, x + i + lanes));
  }
  if (i < n) b = hn::Max(b, hn::Load(d, x + i));
  return hn::Max(a, b);
}

/// Computes x[i] = scale * x[i] + mask[i]; a null mask counts as zeros.
HWY_INLINE void scale_and_mask(float* x, const float* mask, std::size_t n, float scale) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, scale);
  for (std::size_t i = 0; i < n; i += lanes) {
    auto added = hn::Zero(d);
    if (mask != nullptr)
      added = i + lanes <= n ? hn::LoadU(d, mask + i) : load_n(d, mask + i, n - i);
    hn::Store(hn::MulAdd(hn::Load(d, x + i), factor, added), d, x + i);
  }
}

/// Replaces x[i] with the fill value if choice[i] is what `fill.where` asks for.
HWY_INLINE void fill_chosen(float* x, const std::uint8_t* choice, std::size_t n,
                            const AttentionFill& fill) {
  const FloatTag d;
  const hn::Rebind<std::uint8_t, FloatTag> bytes;
  const hn::RebindToSigned<FloatTag> wide;
  const std::size_t lanes = hn::Lanes(d);
  const auto number = hn::Set(d, fill.value);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto unset = hn::RebindMask(
        d, hn::Eq(hn::PromoteTo(wide, hn::LoadU(bytes, choice + i)), hn::Zero(wide)));
    const auto old = hn::Load(d, x + i);
    hn::Store(fill.where ? hn::IfThenElse(unset, old, number) : hn::IfThenElse(unset, number, old),
              d, x + i);
  }
  for (; i < n; ++i)
    if ((choice[i] != 0) == fill.where) x[i] = fill.value;
}

/// Applies scale, mask and fill to a row of scores.
HWY_INLINE void adjust_scores(const AttentionScores& s, std::size_t row) {
  float* x = s.x + row * s.stride;
  const float* mask = s.mask == nullptr ? nullptr : s.mask + row * s.mask_stride;
  if (s.choice == nullptr) return scale_and_mask(x, mask, s.keys, s.scale);
  const std::uint8_t* choice = s.choice + row * s.choice_stride;
  if (s.fill.last) {
    scale_and_mask(x, mask, s.keys, s.scale);
    return fill_chosen(x, choice, s.keys, s.fill);
  }
  scale_and_mask(x, nullptr, s.keys, s.scale);
  fill_chosen(x, choice, s.keys, s.fill);
  if (mask != nullptr) scale_and_mask(x, mask, s.keys, 1);
}

/// Replaces x[i] with power(x[i] - largest) and returns the sum.
HWY_INLINE float powers_of_row(float* x, std::size_t n, float largest,
                               const PowerOfTwo<true>& power) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto shift = hn::Set(d, largest);
  auto a = hn::Zero(d), b = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes < n; i += 2 * lanes) {
    const auto u = power(hn::Sub(hn::Load(d, x + i), shift));
    const auto v = power(hn::Sub(hn::Load(d, x + i + lanes), shift));
    hn::Store(u, d, x + i);
    hn::Store(v, d, x + i + lanes);
    a = hn::Add(a, u);
    b = hn::Add(b, v);
  }
  if (i < n) {
    const auto u = power(hn::Sub(hn::Load(d, x + i), shift));
    hn::Store(u, d, x + i);
    a = hn::Add(a, u);
  }
  return sum_of(hn::Add(a, b));
}

}  // namespace

void weigh_scores(const AttentionScores& s) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t last = (s.keys - 1) / lanes * lanes;
  const auto real = hn::FirstN(d, s.keys - last);
  const auto never = hn::Set(d, -std::numeric_limits<float>::infinity());
  // If there is no mask, a positive scale is applied in the exponent.
  const bool plain = s.mask == nullptr && s.choice == nullptr && s.scale > 0;
  const PowerOfTwo<true> power(plain ? s.scale * std::numbers::log2e_v<float>
                                     : std::numbers::log2e_v<float>);
  for (std::size_t r = 0; r < s.rows; ++r) {
    float* x = s.x + r * s.stride;
    if (!plain) adjust_scores(s, r);
    hn::Store(hn::IfThenElse(real, hn::Load(d, x + last), never), d, x + last);
    const float before = s.first ? std::numeric_limits<float>::lowest() : s.largest[r];
    // At least the lowest float: -inf minus -inf would be NaN.
    const float largest =
        hn::GetLane(hn::Max(hn::MaxOfLanes(d, largest_of(x, s.keys)), hn::Set(d, before)));
    const float sum = powers_of_row(x, s.keys, largest, power);
    s.largest[r] = largest;
    if (s.first) {
      s.sum[r] = sum;
    } else if (largest == before) {
      s.sum[r] += sum;
    } else {
      const float shrink = hn::GetLane(power(hn::Set(d, before - largest)));
      s.sum[r] = s.sum[r] * shrink + sum;
      scale_row(s.y + r * s.y_stride, s.width, shrink);
    }
  }
}

void divide_rows(float* y, std::size_t y_stride, std::size_t rows, std::size_t width,
                 const float* sum) {
  for (std::size_t r = 0; r < rows; ++r) scale_row(y + r * y_stride, width, 1.0F / sum[r]);
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(weigh_scores);
HWY_EXPORT(divide_rows);

void attention_weights(const AttentionScores& scores) {
  HWY_DYNAMIC_DISPATCH(weigh_scores)(scores);
}

void attention_divide(float* y, std::size_t y_stride, std::size_t rows, std::size_t width,
                      const float* sum) {
  HWY_DYNAMIC_DISPATCH(divide_rows)(y, y_stride, rows, width, sum);
}

}  // namespace parallax
#endif  // HWY_ONCE
