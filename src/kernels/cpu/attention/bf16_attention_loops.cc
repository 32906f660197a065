#include "kernels/cpu/attention/bf16_attention_loops.h"

#include <algorithm>
#include <limits>
#include <numbers>
#include <utility>

#include "kernels/cpu/row_groups.h"
#include "kernels/cpu/unroll.h"

#if defined(__x86_64__)
#include "kernels/cpu/bf16_intrinsics.h"

#define PX_BF16_INLINE PX_BF16 inline __attribute__((always_inline))

namespace parallax {
namespace {

constexpr std::size_t kLanes = kBf16Vector;
/// Vectors of queries in registers, and rows for a number of vectors: 24 sums at most.
constexpr std::size_t kVectors = 4;
constexpr std::size_t rows_for(std::size_t vectors) {
  return vectors == 4 ? 6 : vectors == 3 ? 8 : 12;
}

/// R rows times V vectors of queries in registers.
template <std::size_t R, std::size_t V>
struct Sums {
  __m512 at[R][V];

  PX_BF16_INLINE void clear() {
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) at[i][j] = _mm512_setzero_ps();
    }
  }
  /// Adds R pairs that lie `step` apart times a row of pairs.
  PX_BF16_INLINE void add(const Bf16Pair* a, std::size_t step, const __m512bh (&row)[V]) {
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      const auto wide =
          reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a[i * step])));
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) at[i][j] =
          _mm512_dpbf16_ps(at[i][j], wide, row[j]);
    }
  }
};

template <std::size_t V>
PX_BF16_INLINE void load(const float* from, __m512 (&row)[V]) {
  PX_UNROLL for (std::size_t j = 0; j < V; ++j) row[j] = _mm512_loadu_ps(from + j * kLanes);
}
template <std::size_t V>
PX_BF16_INLINE void load(const Bf16Pair* from, __m512bh (&row)[V]) {
  PX_UNROLL for (std::size_t j = 0; j < V; ++j) row[j] =
      reinterpret_cast<__m512bh>(_mm512_loadu_si512(from + j * kLanes));
}
template <std::size_t V>
PX_BF16_INLINE void store(const __m512 (&row)[V], float* to) {
  PX_UNROLL for (std::size_t j = 0; j < V; ++j) _mm512_storeu_ps(to + j * kLanes, row[j]);
}

/// Of R keys from `key` on; their scores go to x[at].
template <std::size_t R, std::size_t V>
PX_BF16_INLINE void add_mask(const Bf16LaneBlock& s, std::size_t at, std::size_t key,
                             Sums<R, V>& sums) {
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      const __m512 mask = s.key_mask != nullptr
                              ? _mm512_set1_ps(s.key_mask[key + i])
                              : _mm512_loadu_ps(s.query_mask + at + i * s.stride + j * kLanes);
      sums.at[i][j] = _mm512_add_ps(sums.at[i][j], mask);
    }
  }
}

/// What add_mask does, and fills scores before it or after it.
template <std::size_t R, std::size_t V>
PX_BF16_INLINE void fill_and_mask(const Bf16LaneBlock& s, std::size_t at, std::size_t key,
                                  Sums<R, V>& sums) {
  if (s.fill_last && s.masked()) add_mask(s, at, key, sums);
  const __m512 fill = _mm512_set1_ps(s.fill);
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      const auto* from =
          reinterpret_cast<const __m128i*>(s.filled + at + i * s.stride + j * kLanes);
      const __m512i filled = _mm512_cvtepu8_epi32(_mm_loadu_si128(from));
      sums.at[i][j] =
          _mm512_mask_mov_ps(sums.at[i][j], _mm512_test_epi32_mask(filled, filled), fill);
    }
  }
  if (!s.fill_last && s.masked()) add_mask(s, at, key, sums);
}

/// Scores of R keys from `key` on.
template <std::size_t R, std::size_t V>
PX_BF16 __attribute__((noinline)) void score_group(const Bf16LaneBlock& s, std::size_t lane,
                                                   std::size_t key) {
  const std::size_t pairs = s.pairs, stride = s.stride;
  const Bf16Pair* k = s.k + key * pairs;
  const Bf16Pair* q = s.q + lane;
  Sums<R, V> sums;
  sums.clear();
  for (std::size_t depth = pairs; depth != 0; --depth, ++k, q += stride) {
    __m512bh row[V];
    load(q, row);
    sums.add(k, pairs, row);
  }
  const std::size_t at = key * stride + lane;
  if (s.filled != nullptr) {
    fill_and_mask(s, at, key, sums);
  } else if (s.masked()) {
    add_mask(s, at, key, sums);
  }
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) store(sums.at[i], s.x + at + i * stride);
  __m512 largest[V];
  load(s.sums.largest + lane, largest);
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      largest[j] = _mm512_max_ps(largest[j], sums.at[i][j]);
    }
  }
  store(largest, s.sums.largest + lane);
}

/// y = shrink * y + sums.
template <std::size_t R, std::size_t V>
PX_BF16_INLINE void finish_values(const Bf16LaneBlock& s, std::size_t lane, std::size_t row,
                                  Sums<R, V>& sums) {
  float* y = s.y + row * s.stride + lane;
  if (!s.first) {
    __m512 shrink[V];
    load(s.sums.shrink + lane, shrink);
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) sums.at[i][j] =
          _mm512_fmadd_ps(shrink[j], _mm512_loadu_ps(y + i * s.stride + j * kLanes), sums.at[i][j]);
    }
  }
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) store(sums.at[i], y + i * s.stride);
}

/// R rows of y from `row` on.
template <std::size_t R, std::size_t V>
PX_BF16 __attribute__((noinline)) void value_group(const Bf16LaneBlock& s, std::size_t lane,
                                                   std::size_t row) {
  const std::size_t stride = s.stride, v_stride = s.v_stride;
  const Bf16Pair* v = s.v + row;
  const Bf16Pair* x = reinterpret_cast<const Bf16Pair*>(s.x) + lane;
  Sums<R, V> sums;
  sums.clear();
  for (std::size_t pairs = (s.keys + 1) / 2; pairs != 0; --pairs, v += v_stride, x += stride) {
    __m512bh weights[V];
    load(x, weights);
    sums.add(v, 1, weights);
  }
  finish_values(s, lane, row, sums);
}

/// 2^x, or e^x, for x <= 0, of what will be rounded to bf16: a cubic on [0, 1), exact at its ends,
/// elsewhere off by 1.03e-4 at most. Of -infinity it is 0: scores that are all so have no sum to
/// divide by, as in Softmax. NaN stays.
template <bool kFactor>
PX_BF16_INLINE __m512 coarse_power(__m512 x) {
  if constexpr (kFactor) x = _mm512_mul_ps(x, _mm512_set1_ps(std::numbers::log2e_v<float>));
  const __m512 r = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  __m512 p = _mm512_fmadd_ps(r, _mm512_set1_ps(7.8267970e-02F), _mm512_set1_ps(2.2630768e-01F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(6.9542435e-01F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F));
  return _mm512_scalef_ps(p, x);
}

/// Makes V vectors of scores of two keys weights, adds them up and pairs them.
template <std::size_t V, bool kFactor>
struct Weights {
  __m512 largest[V], sums[V];
  __m512i interleave;

  PX_BF16_INLINE void make(const float* x, std::size_t stride, Bf16Pair* to, __m512bh (&pairs)[V]) {
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      const float* at = x + j * kLanes;
      const __m512 a = coarse_power<kFactor>(_mm512_sub_ps(_mm512_loadu_ps(at), largest[j]));
      const __m512 b =
          coarse_power<kFactor>(_mm512_sub_ps(_mm512_loadu_ps(at + stride), largest[j]));
      sums[j] = _mm512_add_ps(sums[j], _mm512_add_ps(a, b));
      const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a));
      const __m512i pair = _mm512_permutexvar_epi16(interleave, both);
      _mm512_storeu_si512(to + j * kLanes, pair);
      pairs[j] = reinterpret_cast<__m512bh>(pair);
    }
  }
};

PX_BF16_INLINE __m512i interleaved_halves() {
  const __m512i low = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_or_si512(low, _mm512_slli_epi32(_mm512_add_epi32(low, _mm512_set1_epi32(16)), 16));
}

/// The first R rows of y; also makes scores weights, closed up where they stand. Those of the next
/// two keys are on their way while products use those of these.
template <std::size_t R, std::size_t V, bool kFactor>
PX_BF16 __attribute__((noinline)) void first_values(const Bf16LaneBlock& s, std::size_t lane) {
  const std::size_t stride = s.stride, v_stride = s.v_stride;
  Weights<V, kFactor> make{{}, {}, interleaved_halves()};
  load(s.sums.largest + lane, make.largest);
  load(s.sums.sum + lane, make.sums);
  const Bf16Pair* v = s.v;
  const float* x = s.x + lane;
  Bf16Pair* to = reinterpret_cast<Bf16Pair*>(s.x) + lane;
  Sums<R, V> sums;
  sums.clear();
  __m512bh weights[V], next[V];
  make.make(x, stride, to, weights);
  for (std::size_t pairs = (s.keys + 1) / 2; pairs > 1; --pairs, v += v_stride) {
    x += 2 * stride;
    to += stride;
    make.make(x, stride, to, next);
    sums.add(v, 1, weights);
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) weights[j] = next[j];
  }
  sums.add(v, 1, weights);
  finish_values(s, lane, 0, sums);
  store(make.sums, s.sums.sum + lane);
}

using Group = void (*)(const Bf16LaneBlock&, std::size_t lane, std::size_t row);

template <std::size_t V, std::size_t... R>
void all_scores(const Bf16LaneBlock& s, std::size_t lane, std::index_sequence<R...>) {
  static constexpr Group kTable[] = {score_group<R + 1, V>...};
  run_groups(kTable, s, lane, 0, s.keys);
}

template <std::size_t V, std::size_t... R>
void other_values(const Bf16LaneBlock& s, std::size_t lane, std::size_t row,
                  std::index_sequence<R...>) {
  static constexpr Group kTable[] = {value_group<R + 1, V>...};
  run_groups(kTable, s, lane, row, s.width);
}

/// Rows of y while weights are computed, by vectors of queries: registers for the powers are left.
/// 6 to 16 rows by 1 or 2 vectors differ by 2 %.
constexpr std::size_t kFirstRows = 8, kFirstVectors = 2;

template <bool kFactor>
std::size_t weigh_lanes(const Bf16LaneBlock& s, std::size_t lane, std::size_t end) {
  const bool wide = s.width >= kFirstRows;
  for (; lane + kFirstVectors * kLanes <= end; lane += kFirstVectors * kLanes)
    wide ? first_values<kFirstRows, kFirstVectors, kFactor>(s, lane)
         : first_values<1, kFirstVectors, kFactor>(s, lane);
  for (; lane < end; lane += kLanes)
    wide ? first_values<kFirstRows, 1, kFactor>(s, lane) : first_values<1, 1, kFactor>(s, lane);
  return wide ? kFirstRows : 1;
}

/// Before scores: the sums of nothing, or a copy of the maximum.
PX_BF16 void start_sums(const Bf16LaneBlock& s) {
  for (std::size_t lane = 0; lane < s.stride; lane += kLanes) {
    if (s.first) {
      _mm512_storeu_ps(s.sums.largest + lane, _mm512_set1_ps(std::numeric_limits<float>::lowest()));
      _mm512_storeu_ps(s.sums.sum + lane, _mm512_setzero_ps());
    }
    _mm512_storeu_ps(s.sums.shrink + lane, _mm512_loadu_ps(s.sums.largest + lane));
  }
}

/// After scores: by how much earlier weights shrink.
template <bool kFactor>
PX_BF16 void shrink_sums(const Bf16LaneBlock& s, std::size_t lane, std::size_t end) {
  for (; lane < end; lane += kLanes) {
    const __m512 shrink = coarse_power<kFactor>(_mm512_sub_ps(
        _mm512_loadu_ps(s.sums.shrink + lane), _mm512_loadu_ps(s.sums.largest + lane)));
    _mm512_storeu_ps(s.sums.shrink + lane, shrink);
    _mm512_storeu_ps(s.sums.sum + lane, _mm512_mul_ps(shrink, _mm512_loadu_ps(s.sums.sum + lane)));
  }
}

template <std::size_t V, bool kFactor>
void run_lanes(const Bf16LaneBlock& s, std::size_t lane) {
  constexpr std::make_index_sequence<rows_for(V)> kRows;
  const std::size_t end = lane + V * kLanes;
  all_scores<V>(s, lane, kRows);
  // The partner of a last key without one: V has a zero for it, and less than the lowest float,
  // which masks use, counts for nothing where all else is masked too.
  if (s.keys % 2 != 0)
    std::fill_n(s.x + s.keys * s.stride + lane, V * kLanes,
                -std::numeric_limits<float>::infinity());
  shrink_sums<kFactor>(s, lane, end);
  const std::size_t row = weigh_lanes<kFactor>(s, lane, end);
  other_values<V>(s, lane, row, kRows);
}

template <bool kFactor>
void run_block(const Bf16LaneBlock& s) {
  start_sums(s);
  std::size_t lane = 0;
  for (; lane + kVectors * kLanes <= s.stride; lane += kVectors * kLanes)
    run_lanes<kVectors, kFactor>(s, lane);
  switch ((s.stride - lane) / kLanes) {
    case 1:
      return run_lanes<1, kFactor>(s, lane);
    case 2:
      return run_lanes<2, kFactor>(s, lane);
    case 3:
      return run_lanes<3, kFactor>(s, lane);
    default:
      return;
  }
}

}  // namespace

void bf16_lane_block(const Bf16LaneBlock& s) {
  s.adjusted() ? run_block<true>(s) : run_block<false>(s);
}

}  // namespace parallax

#else

// Unreachable: nothing asks for bf16 where the CPU does not have it.
namespace parallax {
void bf16_lane_block(const Bf16LaneBlock&) {}
}  // namespace parallax

#endif
