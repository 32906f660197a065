#include "kernels/simd/depthwise_loops.h"

#include "kernels/simd/targets.h"
#include "kernels/simd/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/depthwise_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/simd/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using HalfTag = hn::Half<FloatTag>;

/// Outputs at once: their sums, the taps of a filter row and an input stay in registers.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr std::size_t kOutputs = 8;
#else
constexpr std::size_t kOutputs = 4;
#endif

/// Keeps a vector in its register; GCC would load it again for each use.
template <class V>
HWY_INLINE void keep(V& v) {
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86
  __asm__("" : "+v"(v.raw));
#else
  (void)v;
#endif
}

/// B outputs of one vector of channels. Filters of `Taps` taps a row side by side and outputs S
/// pixels apart load each input once; 0: any.
template <class D, std::size_t Taps, std::size_t S, std::size_t B>
HWY_INLINE void convolve(const DepthwiseRow& row, std::size_t from, std::size_t c, float* out) {
  const D d;
  const std::size_t channels = row.channels;
  hn::Vec<D> sum[B];
  const auto start = row.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, row.bias + c);
  PX_UNROLL for (std::size_t o = 0; o < B; ++o) sum[o] = start;
  for (std::size_t i = 0; i < row.row_count; ++i) {
    const float* x = row.x + i * row.row_step + from + c;
    const float* w = row.weights + i * row.weights_step + c;
    if constexpr (Taps > 0) {
      hn::Vec<D> tap[Taps];
      PX_UNROLL for (std::size_t j = 0; j < Taps; ++j) tap[j] = hn::LoadU(d, w + j * channels);
      PX_UNROLL for (std::size_t k = 0; k < (B - 1) * S + Taps; ++k, x += channels) {
        auto input = hn::LoadU(d, x);
        keep(input);
        PX_UNROLL for (std::size_t o = 0; o < B; ++o) {
          if (k >= o * S && k < o * S + Taps) sum[o] = hn::MulAdd(tap[k - o * S], input, sum[o]);
        }
      }
    } else {
      for (std::size_t j = 0; j < row.taps; ++j, x += row.tap_step, w += channels) {
        const auto tap = hn::LoadU(d, w);
        PX_UNROLL for (std::size_t o = 0; o < B; ++o) {
          sum[o] = hn::MulAdd(tap, hn::LoadU(d, x + o * row.step), sum[o]);
        }
      }
    }
  }
  if (row.relu) {
    PX_UNROLL for (std::size_t o = 0; o < B; ++o) sum[o] = relu_f32(d, sum[o]);
  }
  PX_UNROLL for (std::size_t o = 0; o < B; ++o) hn::StoreU(sum[o], d, out + o * channels + c);
}

/// B outputs from `column` on. Where vectors do not fit the channels, the last one overlaps.
template <std::size_t Taps, std::size_t S, std::size_t B>
HWY_NOINLINE void convolve_columns(const DepthwiseRow& row, std::size_t column) {
  const std::size_t lanes = hn::Lanes(FloatTag()), half = hn::Lanes(HalfTag());
  const std::size_t channels = row.channels, from = column * row.step;
  float* out = row.out + column * channels;
  std::size_t c = 0;
  for (; c + lanes <= channels; c += lanes) convolve<FloatTag, Taps, S, B>(row, from, c, out);
  const std::size_t left = channels - c;
  if (left == 0) return;
  if (left > half && channels > lanes)
    return convolve<FloatTag, Taps, S, B>(row, from, channels - lanes, out);
  if (left > half) convolve<HalfTag, Taps, S, B>(row, from, c, out);
  convolve<HalfTag, Taps, S, B>(row, from, channels - half, out);
}

template <std::size_t Taps, std::size_t S>
HWY_INLINE void convolve_row(const DepthwiseRow& row) {
  std::size_t x = 0;
  for (; x + kOutputs <= row.columns; x += kOutputs) convolve_columns<Taps, S, kOutputs>(row, x);
  if (kOutputs > 4 && x + 4 <= row.columns) {
    convolve_columns<Taps, S, 4>(row, x);
    x += 4;
  }
  if (x + 2 <= row.columns) {
    convolve_columns<Taps, S, 2>(row, x);
    x += 2;
  }
  if (x < row.columns) convolve_columns<Taps, S, 1>(row, x);
}

}  // namespace

void convolve_depthwise(const DepthwiseRow& row) {
  const bool together = row.tap_step == row.channels;
  const bool one = row.step == row.channels, two = row.step == 2 * row.channels;
  if (together && row.taps == 3 && one) return convolve_row<3, 1>(row);
  if (together && row.taps == 3 && two) return convolve_row<3, 2>(row);
  if (together && row.taps == 5 && one) return convolve_row<5, 1>(row);
  if (together && row.taps == 5 && two) return convolve_row<5, 2>(row);
  convolve_row<0, 0>(row);
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
