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

/// Pools one vector of channels from `x` on, or its first `tail` lanes if that is not 0. Windows
/// have Size rows and columns; 0: any number.
template <std::size_t Size, class Fold>
HWY_INLINE FloatVec fold_window(const PoolWindows& window, const float* x, std::size_t tail,
                                Fold fold) {
  const FloatTag d;
  const std::size_t rows = Size > 0 ? Size : window.rows;
  const std::size_t columns = Size > 0 ? Size : window.columns;
  FloatVec result = hn::Set(d, Fold::kStart);
  for (std::size_t i = 0; i < rows; ++i, x += window.row_step) {
    const float* at = x;
    for (std::size_t j = 0; j < columns; ++j, at += window.column_step)
      result = fold.combine(result, tail == 0 ? hn::LoadU(d, at) : load_n(d, at, tail));
  }
  return result;
}

/// Writes finish(result of the window) for all windows and channels.
template <std::size_t Size, class Fold, class Finish>
HWY_INLINE void fold_windows(const PoolWindows& windows, float* y, Fold fold, Finish finish) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d), channels = windows.channels;
  const float* x = windows.x;
  for (std::size_t i = 0; i < windows.count; ++i, x += windows.next, y += channels) {
    std::size_t c = 0;
    for (; c + lanes <= channels; c += lanes)
      hn::StoreU(finish(fold_window<Size>(windows, x + c, 0, fold)), d, y + c);
    if (c < channels)
      store_n(finish(fold_window<Size>(windows, x + c, channels - c, fold)), d, y + c,
              channels - c);
  }
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

void windows_max(const PoolWindows& windows, float* y) {
  const auto same = [](FloatVec v) HWY_ATTR { return v; };
  if (windows.rows == 2 && windows.columns == 2)
    return fold_windows<2>(windows, y, PoolLargest(), same);
  fold_windows<0>(windows, y, PoolLargest(), same);
}

void windows_average(const PoolWindows& windows, float* y, float taps) {
  const auto divisor = hn::Set(FloatTag(), taps);
  const auto divided = [divisor](FloatVec v) HWY_ATTR { return hn::Div(v, divisor); };
  fold_windows<0>(windows, y, PoolSum(), divided);
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(windows_max);
HWY_EXPORT(windows_average);
HWY_EXPORT(line_max);
HWY_EXPORT(line_sum);

void pool_max(const PoolWindows& windows, float* y) {
  HWY_DYNAMIC_DISPATCH(windows_max)(windows, y);
}

void pool_average(const PoolWindows& windows, float* y, float taps) {
  HWY_DYNAMIC_DISPATCH(windows_average)(windows, y, taps);
}

void take_larger(const float* x, float* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(line_max)(x, y, n);
}

void take_sum(const float* x, float* y, std::size_t n) { HWY_DYNAMIC_DISPATCH(line_sum)(x, y, n); }

}  // namespace parallax
#endif  // HWY_ONCE
