#include "kernels/cpu/vision/pool_loops.h"

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vision/pool_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/reduce/row_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

struct PoolLargest {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  HWY_INLINE FloatVec combine(FloatVec a, FloatVec x) const { return larger(a, x); }
};

struct PoolSum {
  static constexpr float kStart = 0;
  HWY_INLINE FloatVec combine(FloatVec a, FloatVec x) const { return hn::Add(a, x); }
};

/// Pools one vector of channels from `c` on, or its first `tail` lanes if that is not 0.
template <class Fold>
HWY_INLINE FloatVec fold_window(const PoolWindow& window, std::size_t c, std::size_t tail,
                                Fold fold) {
  const FloatTag d;
  FloatVec result = hn::Set(d, Fold::kStart);
  const float* row = window.x + c;
  for (std::size_t i = 0; i < window.rows; ++i, row += window.row_step) {
    const float* at = row;
    for (std::size_t j = 0; j < window.columns; ++j, at += window.column_step)
      result = fold.combine(result, tail == 0 ? hn::LoadU(d, at) : load_n(d, at, tail));
  }
  return result;
}

/// y[i] = fold(y[i], x[i]).
template <class Fold>
HWY_INLINE void fold_lines(const float* x, float* y, std::size_t n, Fold fold) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(fold.combine(hn::LoadU(d, y + i), hn::LoadU(d, x + i)), d, y + i);
  if (i < n)
    store_n(fold.combine(load_n(d, y + i, n - i), load_n(d, x + i, n - i)), d, y + i, n - i);
}

}  // namespace

void line_max(const float* x, float* y, std::size_t n) { fold_lines(x, y, n, PoolLargest()); }
void line_sum(const float* x, float* y, std::size_t n) { fold_lines(x, y, n, PoolSum()); }

void window_max(const PoolWindow& window, float* y, std::size_t channels) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t c = 0;
  for (; c + lanes <= channels; c += lanes)
    hn::StoreU(fold_window(window, c, 0, PoolLargest()), d, y + c);
  if (c < channels)
    store_n(fold_window(window, c, channels - c, PoolLargest()), d, y + c, channels - c);
}

void window_average(const PoolWindow& window, float* y, std::size_t channels, float count) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto divisor = hn::Set(d, count);
  std::size_t c = 0;
  for (; c + lanes <= channels; c += lanes)
    hn::StoreU(hn::Div(fold_window(window, c, 0, PoolSum()), divisor), d, y + c);
  if (c < channels)
    store_n(hn::Div(fold_window(window, c, channels - c, PoolSum()), divisor), d, y + c,
            channels - c);
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(window_max);
HWY_EXPORT(window_average);
HWY_EXPORT(line_max);
HWY_EXPORT(line_sum);

void pool_max(const PoolWindow& window, float* y, std::size_t channels) {
  HWY_DYNAMIC_DISPATCH(window_max)(window, y, channels);
}

void pool_average(const PoolWindow& window, float* y, std::size_t channels, float count) {
  HWY_DYNAMIC_DISPATCH(window_average)(window, y, channels, count);
}

void take_larger(const float* x, float* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(line_max)(x, y, n);
}

void take_sum(const float* x, float* y, std::size_t n) { HWY_DYNAMIC_DISPATCH(line_sum)(x, y, n); }

}  // namespace parallax
#endif  // HWY_ONCE
