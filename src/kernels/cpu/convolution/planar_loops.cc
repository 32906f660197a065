#include "kernels/cpu/convolution/planar_loops.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/machine.h"
#include "kernels/cpu/targets.h"
#include "kernels/cpu/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution/planar_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"
#include "kernels/cpu/registers_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr auto kLine = static_cast<std::size_t>(kLineFloats);

/// R filters times V vectors of outputs from `column` on, of which `last` elements are in the last.
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
  if (product.relu) {
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) sum[i][j] = relu_f32(d, sum[i][j]);
    }
  }
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

/// All columns, in groups of vectors of nearly the same size.
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

/// One tap of V vectors of filters for the outputs [Begin, End).
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

/// R outputs times V vectors of filters.
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
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      if (product.relu) sum[i][j] = relu_f32(d, sum[i][j]);
      hn::StoreU(sum[i][j], d, c + i * product.ldc + j * lanes);
    }
  }
}

/// Each of the `groups` groups prefetches `lines` lines of the next weights a channel, from `next`
/// on.
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

/// By rows less one.
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

/// from[0, n), and anything in what is left of a vector.
HWY_INLINE void copy_spilling(const float* HWY_RESTRICT from, float* HWY_RESTRICT to,
                              std::size_t n) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  if (i < n) hn::StoreU(load_n(d, from + i, n - i), d, to + i);
}

HWY_INLINE void zero_spilling(float* HWY_RESTRICT to, std::size_t n) {
  const FloatTag d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) hn::StoreU(hn::Zero(d), d, to + i);
}

/// to[i] = from[i * step], for i in [begin, end).
HWY_INLINE void copy_apart(const float* HWY_RESTRICT from, std::ptrdiff_t step,
                           float* HWY_RESTRICT to, std::ptrdiff_t begin, std::ptrdiff_t end) {
  for (std::ptrdiff_t i = begin; i < end; ++i) to[i] = from[i * step];
}

/// Which of left + i * step, i in [0, count), lie in [0, width).
struct Inside {
  std::ptrdiff_t begin, end;
  Inside(std::ptrdiff_t left, std::ptrdiff_t step, std::ptrdiff_t count, std::ptrdiff_t width) {
    begin = left < 0 ? HWY_MIN((step - 1 - left) / step, count) : 0;
    end = width > left ? HWY_MIN((width - left + step - 1) / step, count) : 0;
    end = HWY_MAX(begin, end);
  }
};

/// One row of one part.
HWY_INLINE void write_part(const float* HWY_RESTRICT from, std::ptrdiff_t step,
                           std::ptrdiff_t count, const Inside& inside, float* HWY_RESTRICT to) {
  zero_spilling(to, static_cast<std::size_t>(inside.begin));
  if (step == 1) {
    copy_spilling(from + inside.begin, to + inside.begin,
                  static_cast<std::size_t>(inside.end - inside.begin));
  } else {
    copy_apart(from, step, to, inside.begin, inside.end);
  }
  zero_spilling(to + inside.end, static_cast<std::size_t>(count - inside.end));
}

/// Vectors of all parts of a row from one place; S parts. Returns the end of what is written.
template <std::size_t S>
HWY_INLINE std::ptrdiff_t write_vectors(const float* HWY_RESTRICT from, std::ptrdiff_t begin,
                                        std::ptrdiff_t end, float* HWY_RESTRICT to,
                                        std::size_t part_stride) {
  const FloatTag d;
  const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  hn::Vec<FloatTag> v0, v1, v2, v3;
  for (; begin + lanes <= end; begin += lanes) {
    const float* at = from + begin * static_cast<std::ptrdiff_t>(S);
    if constexpr (S == 2) hn::LoadInterleaved2(d, at, v0, v1);
    if constexpr (S == 3) hn::LoadInterleaved3(d, at, v0, v1, v2);
    if constexpr (S == 4) hn::LoadInterleaved4(d, at, v0, v1, v2, v3);
    hn::StoreU(v0, d, to + begin);
    hn::StoreU(v1, d, to + part_stride + begin);
    if constexpr (S > 2) hn::StoreU(v2, d, to + 2 * part_stride + begin);
    if constexpr (S > 3) hn::StoreU(v3, d, to + 3 * part_stride + begin);
  }
  return begin;
}

/// All parts of a row, as many as the step is.
HWY_INLINE void write_parts(const PlaneCopy& copy, const float* HWY_RESTRICT from,
                            float* HWY_RESTRICT to) {
  const auto step = static_cast<std::ptrdiff_t>(copy.step);
  const auto count = static_cast<std::ptrdiff_t>(copy.count);
  // Those that all parts have inside the image; vectors before the edges, into which they may not
  // spill.
  const std::ptrdiff_t begin = Inside(copy.left, step, count, copy.width).begin;
  const std::ptrdiff_t end =
      HWY_MAX(begin, Inside(copy.left + step - 1, step, count, copy.width).end);
  std::ptrdiff_t done = begin;
  if (step == 2) done = write_vectors<2>(from, begin, end, to, copy.part_stride);
  if (step == 3) done = write_vectors<3>(from, begin, end, to, copy.part_stride);
  if (step == 4) done = write_vectors<4>(from, begin, end, to, copy.part_stride);
  for (std::ptrdiff_t p = 0; p < step; ++p, to += copy.part_stride) {
    const Inside inside(copy.left + p, step, count, copy.width);
    for (std::ptrdiff_t i = 0; i < inside.begin; ++i) to[i] = 0;
    copy_apart(from + p, step, to, inside.begin, begin);
    copy_apart(from + p, step, to, done, inside.end);
    for (std::ptrdiff_t i = inside.end; i < count; ++i) to[i] = 0;
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

void write_plane(const PlaneCopy& copy) {
  const auto step = static_cast<std::ptrdiff_t>(copy.step);
  const auto count = static_cast<std::ptrdiff_t>(copy.count);
  const bool together = copy.parts > 1 && copy.parts == copy.step && copy.step <= 4;
  for (std::size_t p = 0; p < (together ? 1 : copy.parts); ++p) {
    const std::ptrdiff_t left = copy.left + static_cast<std::ptrdiff_t>(p);
    const Inside inside(left, step, count, copy.width);
    const float* from = copy.from;
    float* to = copy.to + p * copy.part_stride;
    for (std::size_t row = 0; row < copy.rows; ++row, to += copy.to_stride) {
      if (row < copy.begin || row >= copy.end) {
        for (std::size_t part = p; part < (together ? copy.parts : p + 1); ++part)
          std::fill_n(to + (part - p) * copy.part_stride, copy.count, 0.0F);
        continue;
      }
      for (std::ptrdiff_t i = 0; p == 0 && copy.ahead != 0 && i < count * step; i += kLine)
        __builtin_prefetch(from + copy.ahead + i, 0, 3);
      if (together) {
        write_parts(copy, from + copy.left, to);
      } else {
        write_part(from + left, step, count, inside, to);
      }
      from += copy.from_stride;
    }
  }
}

void write_rows(const float* HWY_RESTRICT from, std::size_t from_stride, float* HWY_RESTRICT to,
                std::size_t to_stride, std::size_t rows, std::size_t count) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t row = 0; row < rows; ++row, from += from_stride, to += to_stride) {
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    if (i < count) store_n(load_n(d, from + i, count - i), d, to + i, count - i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(multiply_planar);
HWY_EXPORT(multiply_by_pixels);
HWY_EXPORT(widths_of_planar);
HWY_EXPORT(write_plane);
HWY_EXPORT(write_rows);

void planar_multiply(const PlanarProduct& product) {
  HWY_DYNAMIC_DISPATCH(multiply_planar)(product);
}

void pixel_multiply(const PixelProduct& product) {
  HWY_DYNAMIC_DISPATCH(multiply_by_pixels)(product);
}

PlanarWidths planar_widths() { return HWY_DYNAMIC_DISPATCH(widths_of_planar)(); }

void copy_plane(const PlaneCopy& copy) { HWY_DYNAMIC_DISPATCH(write_plane)(copy); }

void copy_rows(const float* from, std::size_t from_stride, float* to, std::size_t to_stride,
               std::size_t rows, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(write_rows)(from, from_stride, to, to_stride, rows, count);
}

}  // namespace parallax
#endif  // HWY_ONCE
