#include "kernels/cpu/convolution/planar_loops.h"

#include <utility>

#include "kernels/cpu/machine.h"
#include "kernels/cpu/targets.h"
#include "kernels/cpu/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/planar_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/bounds_inl.h"
#include "kernels/cpu/registers_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr auto kLine = static_cast<std::size_t>(kLineFloats);

/// Multiplies R filters with V vectors of outputs from `column` on; the last vector has `last`
/// elements.
template <std::size_t R, std::size_t V>
HWY_INLINE void multiply(const PlanarProduct& product, std::size_t column, std::size_t last) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  float* const c = product.c + column;
  hn::Vec<FloatTag> sum[R][V];
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    if (product.accumulate) {
      const float* from = c + i * product.ldc;
      PX_UNROLL for (std::size_t j = 0; j + 1 < V; ++j) sum[i][j] = hn::LoadU(d, from + j * lanes);
      from += (V - 1) * lanes;
      sum[i][V - 1] = last < lanes ? load_n(d, from, last) : hn::LoadU(d, from);
    } else {
      const auto start = product.bias == nullptr ? hn::Zero(d) : hn::Set(d, product.bias[i]);
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) sum[i][j] = start;
    }
  }
  const float* HWY_RESTRICT w = product.weights;
  const float* HWY_RESTRICT x = product.x + column;
  for (std::size_t channel = 0; channel < product.channels; ++channel) {
    for (std::size_t t = 0; t < product.tap_count; ++t) {
      const float* from = x + product.taps[t].offset;
      const float* at = w + product.taps[t].index * static_cast<std::ptrdiff_t>(R);
      hn::Vec<FloatTag> in[V];
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) in[j] = hn::LoadU(d, from + j * lanes);
      PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
        const auto weight = hn::Set(d, at[i]);
        PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
          sum[i][j] = hn::MulAdd(weight, in[j], sum[i][j]);
        }
      }
    }
    x += product.channel_stride;
    w += product.all_taps * R;
  }
  limit<V>(d, product.bounds, sum);
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    float* to = c + i * product.ldc;
    PX_UNROLL for (std::size_t j = 0; j + 1 < V; ++j) hn::StoreU(sum[i][j], d, to + j * lanes);
    to += (V - 1) * lanes;
    if (last < lanes) {
      store_n(sum[i][V - 1], d, to, last);
    } else {
      hn::StoreU(sum[i][V - 1], d, to);
    }
  }
}

/// Multiplies all columns, in groups of vectors of nearly the same size.
template <std::size_t R>
HWY_NOINLINE void multiply_columns(const PlanarProduct& product) {
  const std::size_t lanes = hn::Lanes(FloatTag());
  const std::size_t vectors = (product.columns + lanes - 1) / lanes;
  std::size_t done = 0;
  for (std::size_t groups = (vectors + kVectors - 1) / kVectors; groups != 0; --groups) {
    const std::size_t count = (vectors - done + groups - 1) / groups, column = done * lanes;
    done += count;
    const std::size_t last = HWY_MIN(lanes, product.columns - (done - 1) * lanes);
    switch (count) {
      case 1:
        multiply<R, 1>(product, column, last);
        break;
      case 2:
        multiply<R, 2>(product, column, last);
        break;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
      case 3:
        multiply<R, 3>(product, column, last);
        break;
#endif
      default:
        multiply<R, kVectors>(product, column, last);
    }
  }
}

/// Adds one tap of V vectors of filters to the outputs [Begin, End).
template <std::size_t Begin, std::size_t End, std::size_t R, std::size_t V>
HWY_INLINE void add_tap(const float* HWY_RESTRICT from, const FloatVec (&weight)[V],
                        FloatVec (&sum)[R][V]) {
  PX_UNROLL for (std::size_t i = Begin; i < End; ++i) {
    const auto in = hn::Set(FloatTag(), from[i]);
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      sum[i][j] = hn::MulAdd(in, weight[j], sum[i][j]);
    }
  }
}

/// Multiplies R outputs with V vectors of filters.
template <std::size_t R, std::size_t V>
HWY_INLINE void multiply_pixels(const PixelProduct& product, std::size_t row, const float* next,
                                std::size_t lines) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d), last = product.columns - (V - 1) * lanes;
  float* const c = product.c + row * product.ldc;
  hn::Vec<FloatTag> sum[R][V];
  PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
    if (product.accumulate) {
      PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
        sum[i][j] = hn::LoadU(d, c + i * product.ldc + j * lanes);
      }
    } else {
      auto start = hn::Zero(d);
      if (product.bias != nullptr) {
        const float* bias = product.bias + j * lanes;
        start = j + 1 == V && last < lanes ? load_n(d, bias, last) : hn::LoadU(d, bias);
      }
      PX_UNROLL for (std::size_t i = 0; i < R; ++i) sum[i][j] = start;
    }
  }
  const bool first = row == 0, last_one = row + R == product.rows;
  const float* HWY_RESTRICT w = product.weights;
  const float* HWY_RESTRICT x = product.x + row;
  for (std::size_t channel = 0; channel < product.channels; ++channel) {
    for (std::size_t line = 0; line < lines; ++line) __builtin_prefetch(next + line * kLine, 0, 2);
    next += lines * kLine;
    for (std::size_t t = 0; t < product.tap_count; ++t) {
      const float* from = x + product.taps[t].offset;
      const float* at = w + product.taps[t].index * static_cast<std::ptrdiff_t>(V * lanes);
      hn::Vec<FloatTag> weight[V];
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) weight[j] = hn::LoadU(d, at + j * lanes);
      if (V == kVectors && first && product.taps[t].misses_first) {
        add_tap<1, R>(from, weight, sum);
      } else if (V == kVectors && last_one && product.taps[t].misses_last) {
        add_tap<0, R - 1>(from, weight, sum);
      } else {
        add_tap<0, R>(from, weight, sum);
      }
    }
    x += product.channel_stride;
    w += product.all_taps * V * lanes;
  }
  limit<V>(d, product.bounds, sum);
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      hn::StoreU(sum[i][j], d, c + i * product.ldc + j * lanes);
    }
  }
}

/// Multiplies `groups` groups of outputs; each prefetches `lines` cache lines of the next weights
/// per channel, from `next` on.
using MultiplyPixels = void (*)(const PixelProduct&, std::size_t row, std::size_t groups,
                                const float* next, std::size_t lines);

template <std::size_t R, std::size_t V>
HWY_NOINLINE void multiply_groups(const PixelProduct& product, std::size_t row, std::size_t groups,
                                  const float* next, std::size_t lines) {
  for (; groups != 0; --groups, row += R) {
    multiply_pixels<R, V>(product, row, next, lines);
    next += lines * product.channels * kLine;
  }
}

/// Returns the function for a number of rows; the table is indexed by rows - 1.
template <std::size_t V, std::size_t... R>
MultiplyPixels multiply_of(std::size_t rows, std::index_sequence<R...>) {
  constexpr MultiplyPixels kTable[] = {multiply_groups<R + 1, V>...};
  return kTable[rows - 1];
}

MultiplyPixels multiply_of(std::size_t rows, std::size_t vectors) {
  switch (vectors) {
    case 1:
      return multiply_of<1>(rows, std::make_index_sequence<rows_for(1)>());
    case 2:
      return multiply_of<2>(rows, std::make_index_sequence<rows_for(2)>());
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    case 3:
      return multiply_of<3>(rows, std::make_index_sequence<rows_for(3)>());
#endif
    default:
      return multiply_of<kVectors>(rows, std::make_index_sequence<rows_for(kVectors)>());
  }
}

}  // namespace

void multiply_planar(const PlanarProduct& product) {
  switch (product.rows) {
    case 1:
      return multiply_columns<1>(product);
    case 2:
      return multiply_columns<2>(product);
    case 3:
      return multiply_columns<3>(product);
    case 4:
      return multiply_columns<4>(product);
    case 5:
      return multiply_columns<5>(product);
    default:
      return multiply_columns<6>(product);
  }
}

void multiply_by_pixels(const PixelProduct& product) {
  if (product.rows == 0) return;
  const std::size_t lanes = hn::Lanes(FloatTag());
  const std::size_t vectors = (product.columns + lanes - 1) / lanes;
  // Groups of nearly the same size: 8 outputs as 4 + 4, not as 6 + 2.
  const std::size_t most = rows_for(vectors), groups = (product.rows + most - 1) / most;
  const std::size_t rows = product.rows / groups, larger = product.rows % groups;
  const float* next = product.next_weights;
  std::size_t lines = 0;
  if (next != nullptr) {
    const std::size_t all = product.all_taps * vectors * lanes / kLine;
    lines = (all + groups - 1) / groups;
  }
  if (larger > 0) multiply_of(rows + 1, vectors)(product, 0, larger, next, lines);
  next += larger * lines * product.channels * kLine;
  multiply_of(rows, vectors)(product, larger * (rows + 1), groups - larger, next, lines);
}

PlanarWidths widths_of_planar() {
  return {kVectors * hn::Lanes(FloatTag()), hn::Lanes(FloatTag())};
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(multiply_planar);
HWY_EXPORT(multiply_by_pixels);
HWY_EXPORT(widths_of_planar);

void planar_multiply(const PlanarProduct& product) {
  HWY_DYNAMIC_DISPATCH(multiply_planar)(product);
}

void pixel_multiply(const PixelProduct& product) {
  HWY_DYNAMIC_DISPATCH(multiply_by_pixels)(product);
}

PlanarWidths planar_widths() { return HWY_DYNAMIC_DISPATCH(widths_of_planar)(); }

}  // namespace parallax
#endif  // HWY_ONCE
