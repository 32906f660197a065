#include "kernels/cpu/gemm/f32_loops.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/targets.h"
#include "kernels/cpu/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/f32_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/gemm/f32_sums_inl.h"
#include "kernels/cpu/registers_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// For a few remaining columns half a vector costs half the time: 512 bits are two steps of a Zen 4.
#if HWY_TARGET == HWY_AVX3
constexpr bool kHalves = true;
#else
constexpr bool kHalves = false;
#endif
using HalfTag = hn::CappedTag<float, 8>;

/// Part of the next panel that a group of rows prefetches: `lines` cache lines every kSteps steps
/// in depth, and a line every kOrderedSteps, `stride` floats after the last. Evenly spread, since
/// more misses in flight than the core can track would stall it.
struct Prefetch {
  const float* at = nullptr;  ///< readable if there is no next panel
  std::size_t lines = 0, stride = 0;
};
constexpr std::size_t kLineFloats = 16;
/// Steps in depth from one prefetch of several lines to the next. With 32 registers they are
/// unrolled. With 16 a loop over lines takes a tenth of the time if it runs every 4 steps, so few
/// groups prefetch every 32, and many prefetch one line every kOrderedSteps. Zen 3, one thread,
/// every 4, 16 and 32: 1500x384x1536 19.6, 19.3 and 19.0 ms, 1500x1536x384 21.4, 20.1 and 19.1,
/// 64x768x3072 3.52, 3.35 and 3.31.
constexpr bool kUnrolls = kVectors > 2;
constexpr std::size_t kSteps = kUnrolls ? 4 : 32;
/// Fewest steps of a group that also prefetches its destination and the rows of the next group.
constexpr std::size_t kDeep = 64;

#if PX_ORDERED
/// Adds `depth` columns of A, a multiple of three, and moves pointers past them; the arguments are
/// those of Sums::add().
template <std::size_t kPointers, class Sums>
HWY_INLINE void add_threes(Sums& sums, const float** at, std::size_t lda, const float*& b,
                           std::size_t ldb, std::size_t depth) {
  const float* const end = at[0] + depth;
  do {
    sums.template add_ordered<3>(at, lda, &b, ldb);
    PX_UNROLL for (std::size_t i = 0; i < kPointers; ++i) at[i] += 3;
    b += 3 * ldb;
  } while (at[0] != end);
}

/// Adds as many of `depth` columns of A as kOrderedSteps divides, moves pointers past them and
/// returns their number. Prefetches a line each time.
template <std::size_t kPointers, class Sums>
HWY_INLINE std::size_t add_fours(Sums& sums, const float** at, std::size_t lda, const float*& b,
                                 std::size_t ldb, std::size_t depth, Prefetch& prefetch) {
  const float* rows[] = {b, b + 3 * ldb};
  std::size_t k = 0;
  for (; k + kOrderedSteps <= depth; k += kOrderedSteps) {
    __builtin_prefetch(prefetch.at, 0, 2);
    prefetch.at += prefetch.stride;
    sums.template add_ordered<kOrderedSteps>(at, lda, rows, ldb);
    PX_UNROLL for (std::size_t i = 0; i < kPointers; ++i) at[i] += kOrderedSteps;
    PX_UNROLL for (auto& row : rows) row += kOrderedSteps * ldb;
  }
  b = rows[0];
  return k;
}
#endif

/// Multiplies a group of rows over the whole depth.
template <std::size_t R, std::size_t V, class L, class Rows>
HWY_INLINE void multiply_group(const MatMulPanel& panel, std::size_t row,
                               const MatMulSegment* segments, std::size_t segment_count,
                               Prefetch prefetch, Rows rows) {
  const float* HWY_RESTRICT a = static_cast<const float*>(panel.a) + row * panel.lda;
  const float* b = static_cast<const float*>(panel.b);
  float* c = static_cast<float*>(panel.c) + row * panel.ldc;
  const std::size_t lda = panel.lda, ldb = panel.ldb;
  Sums<R, V, L> sums;
  sums.start(panel, c);
  const bool deep = segment_count == 1 && segments->depth >= kDeep;
  // Stores to lines that are not there fill the store buffer. On one thread, with and without
  // this: 1500x384x1536 15.85 and 16.58 ms, 1500x384x384 3.95 and 4.07, 64x1536x1536 2.70 and 2.74.
  for (std::size_t i = 0; deep && i < R; ++i)
    for (std::size_t j = 0; j < V; ++j)
      __builtin_prefetch(c + i * panel.ldc + j * hn::Lanes(FloatTag()), 1, 3);
  for (std::size_t s = 0; s < segment_count; ++s) {
    // One pointer for three rows: twelve pointers would not fit the registers.
    constexpr std::size_t kPointers = (R + 2) / 3;
    const float* at[kPointers];
    PX_UNROLL for (std::size_t i = 0; i < kPointers; ++i) {
      at[i] = a + segments[s].offset + 3 * i * lda;
    }
    const auto step = [&]() HWY_ATTR {
      sums.add(at, lda, b, rows);
      rows.step(ldb);
      PX_UNROLL for (std::size_t i = 0; i < kPointers; ++i)++ at[i];
      b += ldb;
    };
    const std::size_t depth = segments[s].depth;
#if PX_ORDERED
    // Rows of a 3x3 filter of one or three channels.
    if (std::is_same_v<Rows, FloatRows> && (depth == 3 || depth == 9)) {
      add_threes<kPointers>(sums, at, lda, b, ldb, depth);
      continue;
    }
#endif
    for (std::size_t k = 0; k < depth;) {
      for (std::size_t line = 0; line < prefetch.lines; ++line)
        __builtin_prefetch(prefetch.at + line * kLineFloats, 0, 2);
      prefetch.at += prefetch.lines * kLineFloats;
      // Prefetches the rows of the next group: another 0.4 % if A was written long ago. The figures
      // of kSteps are without this.
      for (std::size_t i = 0; kUnrolls && deep && k % kLineFloats == 0 && i < R; ++i)
        __builtin_prefetch(a + (R + i) * lda + k, 0, 3);
      // Unrolled steps of few vectors would run out of registers for addresses.
      if (V > 2 && k + kSteps <= depth) {
        PX_UNROLL for (std::size_t u = 0; u < kSteps; ++u) step();
        k += kSteps;
        continue;
      }
      const std::size_t stop = HWY_MIN(k + kSteps, depth);
#if PX_ORDERED
      if constexpr (std::is_same_v<Rows, FloatRows>)
        k += add_fours<kPointers>(sums, at, lda, b, ldb, stop - k, prefetch);
#endif
      for (; k < stop; ++k) step();
    }
  }
  sums.finish(panel, panel.residual == nullptr ? nullptr : panel.residual + row * panel.ldc, c);
}

/// Multiplies `groups` groups of R rows from `row` on. Each prefetches its share of the next panel.
template <std::size_t R, std::size_t V, class L>
HWY_NOINLINE void multiply_groups(const MatMulPanel& panel, std::size_t row, std::size_t groups,
                                  const Prefetch& first, std::size_t share) {
  Prefetch prefetch = first;
  const MatMulSegment whole{0, panel.depth};
  const MatMulSegment* segments = panel.segments == nullptr ? &whole : panel.segments;
  const std::size_t count = panel.segments == nullptr ? 1 : panel.segment_count;
  for (std::size_t g = 0; g < groups; ++g, row += R) {
    multiply_group<R, V, L>(panel, row, segments, count, prefetch, FloatRows{});
    prefetch.at += share;
  }
}

using Multiply = void (*)(const MatMulPanel&, std::size_t row, std::size_t groups, const Prefetch&,
                          std::size_t share);

/// Returns the function for a number of rows; the table is indexed by rows - 1.
template <std::size_t V, class L, std::size_t... R>
Multiply multiply_of(std::size_t rows, std::index_sequence<R...>) {
  constexpr Multiply kTable[] = {multiply_groups<R + 1, V, L>...};
  return kTable[rows - 1];
}

template <std::size_t V>
Multiply multiply_of(std::size_t rows, bool half) {
  constexpr std::make_index_sequence<rows_for(V)> kRows;
  if constexpr (kHalves) {
    if (half) return multiply_of<V, HalfTag>(rows, kRows);
  }
  return multiply_of<V, FloatTag>(rows, kRows);
}

Multiply multiply_of(std::size_t rows, std::size_t vectors, bool half) {
  switch (vectors) {
    case 1:
      return multiply_of<1>(rows, half);
    case 2:
      return multiply_of<2>(rows, half);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    case 3:
      return multiply_of<3>(rows, half);
#endif
    default:
      return multiply_of<kVectors>(rows, half);
  }
}

/// Returns the sum over all segments of floor((depth + more) / steps).
std::size_t parts_of(const MatMulPanel& panel, std::size_t steps, std::size_t more) {
  if (panel.segments == nullptr) return (panel.depth + more) / steps;
  std::size_t count = 0;
  for (std::size_t s = 0; s < panel.segment_count; ++s)
    count += (panel.segments[s].depth + more) / steps;
  return count;
}

/// How the rows of a panel are cut into groups of nearly the same size: 8 rows run as 4 + 4, not as
/// 6 + 2. The first `larger` groups have a row more than the others.
struct Cut {
  std::size_t vectors;
  bool half;  ///< the last vector has at most half of its columns
  std::size_t groups, rows, larger;
  Multiply with_more, with_rows;  ///< for groups of rows + 1 and of `rows` rows
  std::size_t lines, stride;      ///< those of a Prefetch
  std::size_t share;              ///< from one group's prefetch to the next one's

  explicit Cut(const MatMulPanel& panel) {
    const std::size_t lanes = hn::Lanes(FloatTag());
    vectors = (panel.columns + lanes - 1) / lanes;
    half = panel.columns - (vectors - 1) * lanes <= lanes / 2;
    const std::size_t most = rows_for(vectors);
    groups = (panel.rows + most - 1) / most;
    rows = panel.rows / groups;
    larger = panel.rows % groups;
    with_more = larger > 0 ? multiply_of(rows + 1, vectors, half) : nullptr;
    with_rows = multiply_of(rows, vectors, half);
    const std::size_t width = vectors * lanes;
    stride = (kOrderedSteps * width + groups - 1) / groups;
    if (kOrdered && stride <= kLineFloats) {
      lines = 0;
      share = parts_of(panel, kOrderedSteps, 0) * stride;
      return;
    }
    stride = 0;
    lines = (kSteps * (width + kLineFloats - 1) / kLineFloats + groups - 1) / groups;
    share = parts_of(panel, kSteps, kSteps - 1) * lines * kLineFloats;
  }

  std::size_t rows_of(std::size_t group) const { return group < larger ? rows + 1 : rows; }
  /// Returns the first row of a group.
  std::size_t row(std::size_t group) const { return group * rows + HWY_MIN(group, larger); }
  /// Returns what the first group prefetches.
  Prefetch prefetch(const MatMulPanel& panel) const {
    if (panel.next_b == nullptr) return {static_cast<const float*>(panel.b)};
    return {static_cast<const float*>(panel.next_b), lines, stride};
  }
};

/// Multiplies groups `begin` and later.
HWY_INLINE void multiply_from(const MatMulPanel& panel, const Cut& cut, std::size_t begin) {
  Prefetch prefetch = cut.prefetch(panel);
  const std::size_t step = panel.next_b == nullptr ? 0 : cut.share;
  prefetch.at += begin * step;
  if (begin < cut.larger) {
    cut.with_more(panel, cut.row(begin), cut.larger - begin, prefetch, step);
    prefetch.at += (cut.larger - begin) * step;
    begin = cut.larger;
  }
  if (begin < cut.groups) cut.with_rows(panel, cut.row(begin), cut.groups - begin, prefetch, step);
}

/// Multiplies the first group of rows of a full panel of f16, from `halves` on. A single row keeps
/// no block: no other group needs it.
template <std::size_t R>
HWY_NOINLINE void widen_group(const MatMulPanel& panel, const Prefetch& prefetch,
                              const void* halves, float* block) {
  const MatMulSegment whole{0, panel.depth};
  const HalfRows<(R > 1)> rows{static_cast<const hwy::float16_t*>(halves), block};
  multiply_group<R, kVectors, FloatTag>(panel, 0, &whole, 1, prefetch, rows);
}
using WidenGroup = void (*)(const MatMulPanel&, const Prefetch&, const void*, float*);

/// Returns the function for a number of rows; the table is indexed by rows - 1.
template <std::size_t... R>
WidenGroup widening_of(std::size_t rows, std::index_sequence<R...>) {
  constexpr WidenGroup kTable[] = {widen_group<R + 1>...};
  return kTable[rows - 1];
}

}  // namespace

MatMulWidths widths_of_panels() {
  const std::size_t lanes = hn::Lanes(FloatTag());
  return {kVectors * lanes, lanes};
}

void multiply_panel(const MatMulPanel& panel) {
  if (panel.rows > 0) multiply_from(panel, Cut(panel), 0);
}

void multiply_panels(const MatMulPanel& first, const PanelSteps& steps) {
  if (first.rows == 0) return;
  const Cut cut(first);
  MatMulPanel panel = first;
  for (std::size_t i = 0; i < steps.count; ++i) {
    const auto* b = static_cast<const float*>(first.b) + i * steps.b;
    panel.a = static_cast<const float*>(first.a) + i * steps.a;
    panel.b = b;
    panel.c = static_cast<float*>(first.c) + i * steps.c;
    if (first.bias != nullptr) panel.bias = static_cast<const float*>(first.bias) + i * steps.bias;
    if (first.residual != nullptr) panel.residual = first.residual + i * steps.c;
    panel.next_b = i + 1 == steps.count ? first.next_b : steps.b == 0 ? nullptr : b + steps.b;
    multiply_from(panel, cut, 0);
  }
}

void multiply_halves(const MatMulPanel& halves, const void* from, float* block) {
  MatMulPanel panel = halves;
  panel.b = block;
  if (panel.rows == 0) return;
  const Cut cut(panel);
  if (cut.vectors == kVectors && !cut.half) {
    constexpr std::make_index_sequence<rows_for(kVectors)> kRows;
    widening_of(cut.rows_of(0), kRows)(panel, cut.prefetch(panel), from, block);
    return multiply_from(panel, cut, 1);
  }
  const FloatTag d;
  const HalfRows<true> rows{static_cast<const hwy::float16_t*>(from), block};
  for (std::size_t i = 0; i < panel.depth * panel.ldb; i += hn::Lanes(d)) rows.load(d, nullptr, i);
  multiply_from(panel, cut, 0);
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(widths_of_panels);
HWY_EXPORT(multiply_panel);
HWY_EXPORT(multiply_panels);
HWY_EXPORT(multiply_halves);

MatMulWidths matmul_widths() { return HWY_DYNAMIC_DISPATCH(widths_of_panels)(); }

void matmul_panel(const MatMulPanel& panel) { HWY_DYNAMIC_DISPATCH(multiply_panel)(panel); }

void matmul_panels(const MatMulPanel& first, const PanelSteps& steps) {
  HWY_DYNAMIC_DISPATCH(multiply_panels)(first, steps);
}

void matmul_halves(const MatMulPanel& panel, const void* halves, float* block) {
  HWY_DYNAMIC_DISPATCH(multiply_halves)(panel, halves, block);
}

}  // namespace parallax
#endif  // HWY_ONCE
