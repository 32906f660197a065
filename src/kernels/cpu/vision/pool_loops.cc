#include "kernels/cpu/vision/pool_loops.h"

#include <algorithm>
#include <limits>

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

using PlaceTag = hn::RebindToUnsigned<FloatTag>;
using Places = hn::Vec<PlaceTag>;
struct Largest {
  FloatVec value;
  Places place;  ///< index without channel and batch
};

/// Finds the largest of one vector of channels from `x` on, or of its first `tail` lanes if that is
/// not 0, and where it is. The window has elements.
HWY_INLINE Largest find_largest(const PoolWindows& window, const PoolIndices& indices,
                                const float* x, std::uint32_t first, std::size_t tail) {
  const FloatTag d;
  const PlaceTag places;
  const auto load = [&](const float* at)
                        HWY_ATTR { return tail == 0 ? hn::LoadU(d, at) : load_n(d, at, tail); };
  Largest found = {load(x), hn::Set(places, first)};
  for (std::size_t i = 0; i < window.rows; ++i, x += window.row_step, first += indices.row_step) {
    const float* at = x;
    std::uint32_t place = first;
    for (std::size_t j = 0; j < window.columns;
         ++j, at += window.column_step, place += indices.column_step) {
      const FloatVec value = load(at);
      const auto nan = hn::AndNot(hn::IsNaN(found.value), hn::IsNaN(value));
      const auto better = hn::Or(hn::Gt(value, found.value), nan);
      found.value = hn::IfThenElse(better, value, found.value);
      found.place =
          hn::IfThenElse(hn::RebindMask(places, better), hn::Set(places, place), found.place);
    }
  }
  return found;
}

/// Writes the indices of the first `n` lanes, channels from `start` on.
HWY_INLINE void store_places(Places found, std::int64_t start, std::int64_t channel_step,
                             std::int64_t* places, std::size_t n) {
  HWY_ALIGN std::uint32_t lanes[hn::MaxLanes(PlaceTag())];
  hn::Store(found, PlaceTag(), lanes);
  for (std::size_t i = 0; i < n; ++i)
    places[i] = start + static_cast<std::int64_t>(i) * channel_step + lanes[i];
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

void windows_max_indexed(const PoolWindows& windows, const PoolIndices& indices, float* y,
                         std::int64_t* places) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d), channels = windows.channels;
  const float* x = windows.x;
  std::uint32_t first = indices.first;
  for (std::size_t i = 0; i < windows.count; ++i) {
    for (std::size_t c = 0; c < channels; c += lanes) {
      const std::size_t n = std::min(lanes, channels - c);
      const Largest found = find_largest(windows, indices, x + c, first, n < lanes ? n : 0);
      store_n(found.value, d, y + c, n);
      store_places(found.place, indices.start + static_cast<std::int64_t>(c) * indices.channel_step,
                   indices.channel_step, places + c, n);
    }
    x += windows.next;
    first += indices.next;
    y += channels;
    places += channels;
  }
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
HWY_EXPORT(windows_max_indexed);
HWY_EXPORT(windows_average);
HWY_EXPORT(line_max);
HWY_EXPORT(line_sum);

void pool_max(const PoolWindows& windows, float* y) {
  HWY_DYNAMIC_DISPATCH(windows_max)(windows, y);
}

void pool_max_indexed(const PoolWindows& windows, const PoolIndices& indices, float* y,
                      std::int64_t* places) {
  if (windows.rows > 0 && windows.columns > 0)
    return HWY_DYNAMIC_DISPATCH(windows_max_indexed)(windows, indices, y, places);
  std::fill_n(y, windows.count * windows.channels, -std::numeric_limits<float>::infinity());
  std::fill_n(places, windows.count * windows.channels, std::int64_t{-1});
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
