#include "kernels/cpu/gemm/bf16_loops.h"

#include <algorithm>
#include <cstring>

#include "kernels/bf16.h"
#include "kernels/cpu/unroll.h"

#if defined(__x86_64__)
#include "kernels/cpu/bf16_intrinsics.h"

namespace parallax {
namespace {

constexpr std::size_t kLanes = kBf16Vector;
/// 6 x 4 sums, 4 vectors of B and one of A: 29 registers of 32.
constexpr std::size_t kRows = 6, kVectors = kBf16Panel / kBf16Vector;
constexpr std::size_t kUnroll = 4;

/// Part of the next panel that a group of rows prefetches: `lines` cache lines every kUnroll pairs.
struct Prefetch {
  const Bf16Pair* at = nullptr;
  std::size_t lines = 0;
};

/// Accesses the columns of a vector: all 16, or those of `last`.
template <bool kLast>
PX_BF16 inline __m512 load_columns(const float* from, [[maybe_unused]] __mmask16 last) {
  if constexpr (kLast) return _mm512_maskz_loadu_ps(last, from);
  return _mm512_loadu_ps(from);
}
template <bool kLast>
PX_BF16 inline void store_columns(float* to, __m512 v, [[maybe_unused]] __mmask16 last) {
  if constexpr (kLast) return _mm512_mask_storeu_ps(to, last, v);
  _mm512_storeu_ps(to, v);
}

/// Multiplies R rows with V vectors over the whole depth, with sums in registers: loops that are
/// not unrolled would keep them in memory. A panel whose last vector is full needs no masks.
template <std::size_t R, std::size_t V, bool kMasked>
PX_BF16 __attribute__((noinline)) void multiply_rows(const MatMulPanel& panel, std::size_t row,
                                                     Prefetch prefetch) {
  constexpr std::size_t kFull = V - (kMasked ? 1 : 0);
  const __mmask16 last = first_lanes(panel.columns - (V - 1) * kLanes);
  const Bf16Pair* __restrict a = static_cast<const Bf16Pair*>(panel.a) + row * panel.lda;
  const Bf16Pair* __restrict b = static_cast<const Bf16Pair*>(panel.b);
  float* __restrict c = static_cast<float*>(panel.c) + row * panel.ldc;
  const auto* bias = static_cast<const float*>(panel.bias);
  const std::size_t lda = panel.lda, ldb = panel.ldb, ldc = panel.ldc, pairs = panel.depth;
  const Bf16Pair* ahead = prefetch.at;

  __m512 sum[R][V];
  if (panel.accumulate) {
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      PX_UNROLL for (std::size_t j = 0; j < kFull; ++j) sum[i][j] =
          load_columns<false>(c + i * ldc + j * kLanes, last);
      if constexpr (kMasked) sum[i][kFull] = load_columns<true>(c + i * ldc + kFull * kLanes, last);
    }
  } else {
    __m512 start[V];
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) start[j] = _mm512_setzero_ps();
    if (bias != nullptr) {
      PX_UNROLL for (std::size_t j = 0; j < kFull; ++j) start[j] =
          load_columns<false>(bias + j * kLanes, last);
      if constexpr (kMasked) start[kFull] = load_columns<true>(bias + kFull * kLanes, last);
    }
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) sum[i][j] = start[j];
    }
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      PX_UNROLL for (std::size_t j = 0; j < V; ++j)
          __builtin_prefetch(c + i * ldc + j * kLanes, 1, 3);
    }
  }
  for (std::size_t k = 0; k < pairs; ++k) {
    if (k % kUnroll == 0) {
      for (std::size_t line = 0; line < prefetch.lines; ++line)
        __builtin_prefetch(ahead + line * kLanes, 0, 2);
      ahead += prefetch.lines * kLanes;
    }
    __m512bh column[V];
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) column[j] =
        reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + k * ldb + j * kLanes));
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      const auto x =
          reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a[i * lda + k])));
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) sum[i][j] =
          _mm512_dpbf16_ps(sum[i][j], x, column[j]);
    }
  }
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    PX_UNROLL for (std::size_t j = 0; j < kFull; ++j)
        store_columns<false>(c + i * ldc + j * kLanes, sum[i][j], last);
    if constexpr (kMasked) store_columns<true>(c + i * ldc + kFull * kLanes, sum[i][kFull], last);
  }
}

using Multiply = void (*)(const MatMulPanel&, std::size_t row, Prefetch);

template <std::size_t V, bool kMasked>
Multiply multiply_of(std::size_t rows) {
  constexpr Multiply kTable[kRows] = {multiply_rows<1, V, kMasked>, multiply_rows<2, V, kMasked>,
                                      multiply_rows<3, V, kMasked>, multiply_rows<4, V, kMasked>,
                                      multiply_rows<5, V, kMasked>, multiply_rows<6, V, kMasked>};
  return kTable[rows - 1];
}

template <bool kMasked>
Multiply multiply_of(std::size_t rows, std::size_t vectors) {
  switch (vectors) {
    case 1:
      return multiply_of<1, kMasked>(rows);
    case 2:
      return multiply_of<2, kMasked>(rows);
    case 3:
      return multiply_of<3, kMasked>(rows);
    default:
      return multiply_of<kVectors, kMasked>(rows);
  }
}

}  // namespace

bool cpu_multiplies_bf16() {
  // The loops of attention are compiled for the same instructions.
  static const bool has = __builtin_cpu_supports("avx512bf16") &&
                          __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi") &&
                          __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  return has;
}

PX_BF16 void round_to_bf16(const float* from, std::size_t stride, std::size_t rows,
                           std::size_t depth, Bf16Pair* to, std::size_t pairs, float factor) {
  const __m512 f = _mm512_set1_ps(factor);
  for (std::size_t row = 0; row < rows; ++row, from += stride, to += pairs) {
    std::size_t k = 0;
    for (; k + 2 * kLanes <= depth; k += 2 * kLanes) {
      const __m512bh both =
          _mm512_cvtne2ps_pbh(_mm512_mul_ps(f, _mm512_loadu_ps(from + k + kLanes)),
                              _mm512_mul_ps(f, _mm512_loadu_ps(from + k)));
      _mm512_storeu_si512(to + k / 2, reinterpret_cast<__m512i>(both));
    }
    if (k == depth) continue;
    const std::size_t left = depth - k;
    const __mmask16 low = first_lanes(std::min(left, kLanes));
    const __mmask16 high = first_lanes(left > kLanes ? left - kLanes : 0);
    const __m512bh both =
        _mm512_cvtne2ps_pbh(_mm512_mul_ps(f, _mm512_maskz_loadu_ps(high, from + k + kLanes)),
                            _mm512_mul_ps(f, _mm512_maskz_loadu_ps(low, from + k)));
    _mm512_mask_storeu_epi32(to + k / 2, first_lanes((left + 1) / 2),
                             reinterpret_cast<__m512i>(both));
  }
}

PX_BF16 void pair_rows(const float* first, const float* second, std::size_t n, Bf16Pair* to) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    const __mmask16 lanes = first_lanes(std::min(n - i, kLanes));
    const auto low =
        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(lanes, first + i)));
    __m512i pair = _mm512_cvtepu16_epi32(low);
    if (second != nullptr) {
      const auto high =
          reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(lanes, second + i)));
      pair = _mm512_or_si512(pair, _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16));
    }
    _mm512_storeu_si512(to + i, pair);
  }
}

void bf16_panel(const MatMulPanel& panel) {
  const std::size_t vectors = (panel.columns + kLanes - 1) / kLanes;
  const bool masked = panel.columns % kLanes != 0;
  // Groups of rows of nearly the same size: 8 rows run as 4 + 4, not as 6 + 2.
  const std::size_t groups = (panel.rows + kRows - 1) / kRows;
  const std::size_t rows = panel.rows / groups, larger = panel.rows % groups;
  // Each group prefetches its share of the lines of the next panel: one for each vector and pair.
  const std::size_t lines = kUnroll * vectors;
  const std::size_t share = panel.next_b == nullptr ? 0 : (lines + groups - 1) / groups;
  const std::size_t share_pairs = panel.depth / kUnroll * share * kLanes;
  std::size_t row = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t count = rows + (g < larger ? 1 : 0);
    const auto* next = static_cast<const Bf16Pair*>(panel.next_b);
    const Prefetch prefetch{share == 0 ? nullptr : next + g * share_pairs, share};
    (masked ? multiply_of<true>(count, vectors) : multiply_of<false>(count, vectors))(panel, row,
                                                                                      prefetch);
    row += count;
  }
}

}  // namespace parallax

#else

// Unreachable: bf16 is used only if the CPU supports it.
namespace parallax {
bool cpu_multiplies_bf16() { return false; }
void round_to_bf16(const float*, std::size_t, std::size_t, std::size_t, Bf16Pair*, std::size_t,
                   float) {}
void pair_rows(const float*, const float*, std::size_t, Bf16Pair*) {}
void bf16_panel(const MatMulPanel&) {}
}  // namespace parallax

#endif
