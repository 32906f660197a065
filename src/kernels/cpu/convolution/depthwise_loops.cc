#include "kernels/cpu/convolution/depthwise_loops.h"

#include "kernels/cpu/targets.h"
#include "kernels/cpu/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/depthwise_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/bounds_inl.h"
#include "kernels/cpu/keep_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using HalfTag = hn::Half<FloatTag>;

/// Outputs that are computed together: their sums, the taps of a filter row and an input stay in
/// registers.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr std::size_t kOutputs = 8;
#else
constexpr std::size_t kOutputs = 4;
#endif
/// Taps of longer filter rows that are multiplied with the same inputs.
constexpr std::ptrdiff_t kTaps = 4;

/// Adds T adjacent taps of one row of the filter, whose weights begin at `w`, to B adjacent
/// outputs: each input is loaded once. Tap 0 of output 0 reads pixel `first` of `x`.
template <class D, std::size_t T, std::size_t B>
HWY_INLINE void add_side_by_side(const DepthwiseRow& row, std::ptrdiff_t first,
                                 const float* HWY_RESTRICT x, const float* HWY_RESTRICT w,
                                 hn::Vec<D> (&sum)[B]) {
  const D d;
  constexpr std::ptrdiff_t kInputs = T + B - 1;
  const auto channels = static_cast<std::ptrdiff_t>(row.channels);
  hn::Vec<D> tap[T];
  PX_UNROLL for (std::size_t j = 0; j < T; ++j) tap[j] = hn::LoadU(d, w + j * row.channels);
  if (first >= 0 && first + kInputs <= row.width) {
    x += first * channels;
    PX_UNROLL for (std::size_t k = 0; k < kInputs; ++k, x += channels) {
      auto input = hn::LoadU(d, x);
      keep(input);
      PX_UNROLL for (std::size_t o = 0; o < B; ++o) {
        if (k >= o && k < o + T) sum[o] = hn::MulAdd(tap[k - o], input, sum[o]);
      }
    }
    return;
  }
  PX_UNROLL for (std::size_t k = 0; k < kInputs; ++k, ++first) {
    if (first < 0 || first >= row.width) continue;
    auto input = hn::LoadU(d, x + first * channels);
    keep(input);
    PX_UNROLL for (std::size_t o = 0; o < B; ++o) {
      if (k >= o && k < o + T) sum[o] = hn::MulAdd(tap[k - o], input, sum[o]);
    }
  }
}

/// Adds one tap to B outputs, `stride` pixels apart.
template <class D, std::size_t B>
HWY_INLINE void add_apart(const DepthwiseRow& row, std::ptrdiff_t first,
                          const float* HWY_RESTRICT x, const float* HWY_RESTRICT w,
                          hn::Vec<D> (&sum)[B]) {
  const D d;
  const auto channels = static_cast<std::ptrdiff_t>(row.channels);
  const auto tap = hn::LoadU(d, w);
  if (first >= 0 && first + static_cast<std::ptrdiff_t>(B - 1) * row.stride < row.width) {
    PX_UNROLL for (std::size_t o = 0; o < B; ++o, first += row.stride) {
      sum[o] = hn::MulAdd(tap, hn::LoadU(d, x + first * channels), sum[o]);
    }
    return;
  }
  PX_UNROLL for (std::size_t o = 0; o < B; ++o, first += row.stride) {
    if (first >= 0 && first < row.width)
      sum[o] = hn::MulAdd(tap, hn::LoadU(d, x + first * channels), sum[o]);
  }
}

/// Returns the taps of a row of the filter that are inside the image for some of B outputs from
/// pixel `first` on.
struct SeenTaps {
  std::ptrdiff_t begin, end;
  SeenTaps(const DepthwiseRow& row, std::ptrdiff_t first, std::ptrdiff_t outputs) {
    const std::ptrdiff_t last = first + (outputs - 1) * row.stride, step = row.dilation;
    const auto taps = static_cast<std::ptrdiff_t>(row.taps);
    begin = last < 0 ? HWY_MIN((step - 1 - last) / step, taps) : 0;
    end = first < row.width ? HWY_MIN((row.width - first + step - 1) / step, taps) : 0;
    end = HWY_MAX(begin, end);
  }
};

/// Computes B outputs of one vector of channels from pixel `first` on. Rows of the filter have
/// `Taps` taps, and each input, S pixels from one output to the next, is loaded once; 0: any.
/// REQUIRES, unless Taps is 0: some taps of each output are on the image.
template <class D, std::size_t Taps, std::size_t S, std::size_t B>
HWY_INLINE void convolve(const DepthwiseRow& row, std::ptrdiff_t first, std::size_t c, float* out) {
  const D d;
  const auto channels = static_cast<std::ptrdiff_t>(row.channels);
  const SeenTaps seen(row, first, B);
  hn::Vec<D> sum[B];
  const auto start = row.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, row.bias + c);
  PX_UNROLL for (std::size_t o = 0; o < B; ++o) sum[o] = start;
  for (std::size_t i = 0; i < row.row_count; ++i) {
    const float* x = row.x + i * row.row_step + c;
    const float* w = row.weights + i * row.weights_step + c;
    if constexpr (Taps > 0) {
      x += first * channels;
      hn::Vec<D> tap[Taps];
      PX_UNROLL for (std::size_t j = 0; j < Taps; ++j) tap[j] = hn::LoadU(d, w + j * row.channels);
      constexpr std::size_t kInputs = (B - 1) * S + Taps;
      PX_UNROLL for (std::size_t k = 0; k < kInputs; ++k, x += channels) {
        const std::ptrdiff_t at = first + static_cast<std::ptrdiff_t>(k);
        if (k + 1 < Taps && at < 0) continue;
        if (k + Taps > kInputs && at >= row.width) continue;
        auto input = hn::LoadU(d, x);
        keep(input);
        PX_UNROLL for (std::size_t o = 0; o < B; ++o) {
          if (k >= o * S && k < o * S + Taps) sum[o] = hn::MulAdd(tap[k - o * S], input, sum[o]);
        }
      }
    } else if (row.stride == 1 && row.dilation == 1) {
      std::ptrdiff_t j = seen.begin;
      for (; j + kTaps <= seen.end; j += kTaps)
        add_side_by_side<D, kTaps, B>(row, first + j, x, w + j * channels, sum);
      for (; j < seen.end; ++j) add_side_by_side<D, 1, B>(row, first + j, x, w + j * channels, sum);
    } else {
      for (std::ptrdiff_t j = seen.begin; j < seen.end; ++j)
        add_apart<D, B>(row, first + j * row.dilation, x, w + j * channels, sum);
    }
  }
  limit<B>(d, row.bounds, sum);
  PX_UNROLL for (std::size_t o = 0; o < B; ++o) hn::StoreU(sum[o], d, out + o * row.channels + c);
}

/// Computes B outputs from `column` on. If vectors do not fit the channels, the last one overlaps.
template <std::size_t Taps, std::size_t S, std::size_t B>
HWY_NOINLINE void convolve_columns(const DepthwiseRow& row, std::size_t column) {
  const std::size_t lanes = hn::Lanes(FloatTag()), half = hn::Lanes(HalfTag());
  const std::size_t channels = row.channels;
  const std::ptrdiff_t first = row.first + static_cast<std::ptrdiff_t>(column) * row.stride;
  float* out = row.out + column * channels;
  std::size_t c = 0;
  for (; c + lanes <= channels; c += lanes) convolve<FloatTag, Taps, S, B>(row, first, c, out);
  const std::size_t left = channels - c;
  if (left == 0) return;
  if (left > half && channels > lanes)
    return convolve<FloatTag, Taps, S, B>(row, first, channels - lanes, out);
  if (left > half) convolve<HalfTag, Taps, S, B>(row, first, c, out);
  convolve<HalfTag, Taps, S, B>(row, first, channels - half, out);
}

/// Computes one vector of channels of all outputs of a filter of one tap.
template <class D>
HWY_INLINE void scale_channels(const DepthwiseRow& row, std::size_t c) {
  const D d;
  const auto tap = hn::LoadU(d, row.weights + c);
  const auto start = row.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, row.bias + c);
  const float* x = row.x + static_cast<std::size_t>(row.first) * row.channels + c;
  float* out = row.out + c;
  const auto scale = [&]<std::size_t B>() HWY_ATTR {
    hn::Vec<D> sum[B];
    PX_UNROLL for (std::size_t o = 0; o < B; ++o) {
      sum[o] = hn::MulAdd(tap, hn::LoadU(d, x + o * row.channels), start);
    }
    limit<B>(d, row.bounds, sum);
    PX_UNROLL for (std::size_t o = 0; o < B; ++o) hn::StoreU(sum[o], d, out + o * row.channels);
    x += B * row.channels;
    out += B * row.channels;
  };
  std::size_t column = 0;
  for (; column + kOutputs <= row.columns; column += kOutputs)
    scale.template operator()<kOutputs>();
  for (; column < row.columns; ++column) scale.template operator()<1>();
}

/// Computes all outputs of a filter of one tap, which are on the image.
HWY_NOINLINE void scale_pixels(const DepthwiseRow& row) {
  const std::size_t lanes = hn::Lanes(FloatTag()), half = hn::Lanes(HalfTag());
  std::size_t c = 0;
  for (; c + lanes <= row.channels; c += lanes) scale_channels<FloatTag>(row, c);
  const std::size_t left = row.channels - c;
  if (left == 0) return;
  if (left > half) scale_channels<HalfTag>(row, c);
  scale_channels<HalfTag>(row, row.channels - half);
}

/// Computes outputs [x, end).
template <std::size_t Taps, std::size_t S>
HWY_INLINE void convolve_range(const DepthwiseRow& row, std::size_t x, std::size_t end) {
  constexpr std::size_t kMax = Taps > 0 ? kOutputs : 2 * kOutputs;
  for (; x + kMax <= end; x += kMax) convolve_columns<Taps, S, kMax>(row, x);
  if (kMax > 8 && x + 8 <= end) {
    convolve_columns<Taps, S, 8>(row, x);
    x += 8;
  }
  if (kMax > 4 && x + 4 <= end) {
    convolve_columns<Taps, S, 4>(row, x);
    x += 4;
  }
  if (x + 2 <= end) {
    convolve_columns<Taps, S, 2>(row, x);
    x += 2;
  }
  if (x < end) convolve_columns<Taps, S, 1>(row, x);
}

/// Computes all outputs; those with some taps on the image with `Taps` and `S`.
template <std::size_t Taps, std::size_t S>
HWY_INLINE void convolve_row(const DepthwiseRow& row) {
  const auto columns = static_cast<std::ptrdiff_t>(row.columns);
  constexpr auto kStride = static_cast<std::ptrdiff_t>(S);
  const std::ptrdiff_t last = row.width - 1 - row.first;
  const std::ptrdiff_t outside = 1 - static_cast<std::ptrdiff_t>(Taps) - row.first;
  std::ptrdiff_t begin = outside > 0 ? (kStride - 1 + outside) / kStride : 0;
  begin = HWY_MIN(begin, columns);
  std::ptrdiff_t end = last < 0 ? 0 : HWY_MIN(last / kStride + 1, columns);
  end = HWY_MAX(begin, end);
  convolve_range<0, 0>(row, 0, static_cast<std::size_t>(begin));
  convolve_range<Taps, S>(row, static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
  convolve_range<0, 0>(row, static_cast<std::size_t>(end), row.columns);
}

}  // namespace

void convolve_depthwise(const DepthwiseRow& row) {
  const bool together = row.dilation == 1, one = row.stride == 1, two = row.stride == 2;
  const bool inside =
      row.first >= 0 && row.first + static_cast<std::ptrdiff_t>(row.columns) <= row.width;
  if (row.row_count == 1 && row.taps == 1 && one && inside) return scale_pixels(row);
  if (together && row.taps == 3 && one) return convolve_row<3, 1>(row);
  if (together && row.taps == 3 && two) return convolve_row<3, 2>(row);
  if (together && row.taps == 5 && one) return convolve_row<5, 1>(row);
  if (together && row.taps == 5 && two) return convolve_row<5, 2>(row);
  convolve_range<0, 0>(row, 0, row.columns);
}

std::size_t half_lanes() { return hn::Lanes(HalfTag()); }

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(convolve_depthwise);
HWY_EXPORT(half_lanes);

void depthwise_row(const DepthwiseRow& row) { HWY_DYNAMIC_DISPATCH(convolve_depthwise)(row); }

std::size_t depthwise_fewest_channels() { return HWY_DYNAMIC_DISPATCH(half_lanes)(); }

}  // namespace parallax
#endif  // HWY_ONCE
