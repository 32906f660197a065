#include "kernels/simd/matmul_loops.h"

#include <algorithm>

#include "kernels/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/matmul_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/simd/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// 6 x 4 accumulators want 24 registers of 32; where there are 16, 6 x 2 fit.
constexpr std::size_t kRows = 6;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr std::size_t kVectors = 4;
#else
constexpr std::size_t kVectors = 2;
#endif

/// What of the next panel a group of rows prefetches: so many cache lines every kUnroll steps in
/// depth. Spread out evenly, since more misses in flight than the core can track would stall it.
struct Prefetch {
  const float* at = nullptr;
  std::size_t lines = 0;
};
constexpr std::size_t kLineFloats = 16;
constexpr std::size_t kUnroll = 4;

/// R rows times V vectors, over the whole depth, in registers.
template <std::size_t R, std::size_t V>
HWY_NOINLINE void multiply_rows(const MatMulPanel& panel, std::size_t row, Prefetch prefetch) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t tail = panel.columns - (V - 1) * lanes;  // columns of the last vector
  const float* HWY_RESTRICT a = panel.a + row * panel.lda;
  const float* HWY_RESTRICT b = panel.b;
  float* HWY_RESTRICT c = panel.c + row * panel.ldc;
  const std::size_t lda = panel.lda, ldb = panel.ldb, ldc = panel.ldc, depth = panel.depth;
  const float* ahead = prefetch.at;

  hn::Vec<FloatTag> sum[R][V];
  for (std::size_t i = 0; i < R; ++i) {
    const float* from = panel.accumulate ? c + i * ldc : panel.bias;
    for (std::size_t j = 0; j < V; ++j) {
      if (from == nullptr) {
        sum[i][j] = hn::Zero(d);
      } else if (j + 1 == V && tail < lanes) {
        sum[i][j] = load_n(d, from + j * lanes, tail);
      } else {
        sum[i][j] = hn::LoadU(d, from + j * lanes);
      }
    }
  }
  // Stores to lines that are not there fill the store buffer. On one thread, with and without
  // this: 1500x384x1536 15.85 and 16.58 ms, 1500x384x384 3.95 and 4.07, 64x1536x1536 2.70 and 2.74.
  for (std::size_t i = 0; i < R; ++i)
    for (std::size_t j = 0; j < V; ++j) __builtin_prefetch(c + i * ldc + j * lanes, 1, 3);
  const auto step = [&](std::size_t k) HWY_ATTR {
    hn::Vec<FloatTag> column[V];
    for (std::size_t j = 0; j < V; ++j) column[j] = hn::LoadU(d, b + k * ldb + j * lanes);
    for (std::size_t i = 0; i < R; ++i) {
      const auto x = hn::Set(d, a[i * lda + k]);
      for (std::size_t j = 0; j < V; ++j) sum[i][j] = hn::MulAdd(x, column[j], sum[i][j]);
    }
  };
  std::size_t k = 0;
  for (; k + kUnroll <= depth; k += kUnroll) {
    for (std::size_t line = 0; line < prefetch.lines; ++line)
      __builtin_prefetch(ahead + line * kLineFloats, 0, 2);
    ahead += prefetch.lines * kLineFloats;
    // The rows of the next group: another 0.4 % where A was written long ago.
    if (k % kLineFloats == 0)
      for (std::size_t i = 0; i < R; ++i) __builtin_prefetch(a + (R + i) * lda + k, 0, 3);
    for (std::size_t u = 0; u < kUnroll; ++u) step(k + u);
  }
  for (; k < depth; ++k) step(k);
  for (std::size_t i = 0; i < R; ++i) {
    for (std::size_t j = 0; j < V; ++j) {
      if (j + 1 == V && tail < lanes) {
        store_n(sum[i][j], d, c + i * ldc + j * lanes, tail);
      } else {
        hn::StoreU(sum[i][j], d, c + i * ldc + j * lanes);
      }
    }
  }
}

using Multiply = void (*)(const MatMulPanel&, std::size_t row, Prefetch);

template <std::size_t V>
Multiply multiply_of(std::size_t rows) {
  constexpr Multiply kTable[kRows] = {multiply_rows<1, V>, multiply_rows<2, V>,
                                      multiply_rows<3, V>, multiply_rows<4, V>,
                                      multiply_rows<5, V>, multiply_rows<6, V>};
  return kTable[rows - 1];
}

Multiply multiply_of(std::size_t rows, std::size_t vectors) {
  switch (vectors) {
    case 1:
      return multiply_of<1>(rows);
    case 2:
      return multiply_of<2>(rows);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    case 3:
      return multiply_of<3>(rows);
#endif
    default:
      return multiply_of<kVectors>(rows);
  }
}

}  // namespace

MatMulWidths widths_of_panels() {
  const std::size_t lanes = hn::Lanes(FloatTag());
  return {kVectors * lanes, lanes};
}

void multiply_panel(const MatMulPanel& panel) {
  const std::size_t lanes = hn::Lanes(FloatTag());
  const std::size_t vectors = (panel.columns + lanes - 1) / lanes;
  // Groups of rows of nearly the same size: 8 rows run as 4 + 4, not as 6 + 2.
  const std::size_t groups = (panel.rows + kRows - 1) / kRows;
  const std::size_t rows = panel.rows / groups, larger = panel.rows % groups;
  // Each group fetches its share of the lines of the next panel.
  const std::size_t lines = kUnroll * (vectors * lanes + kLineFloats - 1) / kLineFloats;
  const std::size_t share = panel.next_b == nullptr ? 0 : (lines + groups - 1) / groups;
  const std::size_t share_floats = panel.depth / kUnroll * share * kLineFloats;
  std::size_t row = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t count = rows + (g < larger ? 1 : 0);
    const Prefetch prefetch{share == 0 ? nullptr : panel.next_b + g * share_floats, share};
    multiply_of(count, vectors)(panel, row, prefetch);
    row += count;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(widths_of_panels);
HWY_EXPORT(multiply_panel);

MatMulWidths matmul_widths() { return HWY_DYNAMIC_DISPATCH(widths_of_panels)(); }

void matmul_panel(const MatMulPanel& panel) { HWY_DYNAMIC_DISPATCH(multiply_panel)(panel); }

}  // namespace parallax
#endif  // HWY_ONCE
