#include "kernels/cpu/attention/lane_attention_loops.h"

#include <limits>
#include <numbers>
#include <utility>

#include "kernels/cpu/row_groups.h"
#include "kernels/cpu/targets.h"
#include "kernels/cpu/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/lane_attention_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/power_of_two_inl.h"
#include "kernels/cpu/registers_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// R rows times V vectors of queries in registers.
template <std::size_t R, std::size_t V>
struct Sums {
  FloatVec at[R][V];

  // GCC makes a constructor of its own for no instruction set, and cannot inline NEON's Vec into
  // it.
  HWY_INLINE Sums() {}
  HWY_INLINE void clear() {
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) at[i][j] = hn::Zero(FloatTag());
    }
  }
  /// Adds R numbers that lie `step` elements apart times a row.
  HWY_INLINE void add(const float* HWY_RESTRICT a, std::size_t step, const FloatVec (&row)[V]) {
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      const auto wide = hn::Set(FloatTag(), a[i * step]);
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) at[i][j] = hn::MulAdd(wide, row[j], at[i][j]);
    }
  }
};

template <std::size_t V>
HWY_INLINE void load(const float* from, FloatVec (&row)[V]) {
  const FloatTag d;
  PX_UNROLL for (std::size_t j = 0; j < V; ++j) row[j] = hn::Load(d, from + j * hn::Lanes(d));
}

template <std::size_t V>
HWY_INLINE void store(const FloatVec (&row)[V], float* to) {
  const FloatTag d;
  PX_UNROLL for (std::size_t j = 0; j < V; ++j) hn::Store(row[j], d, to + j * hn::Lanes(d));
}

/// Of R keys from `key` on; their scores go to x[at].
template <std::size_t R, std::size_t V>
HWY_INLINE void add_mask(const LaneBlock& s, std::size_t at, std::size_t key, Sums<R, V>& sums) {
  const FloatTag d;
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      const auto mask = s.key_mask != nullptr
                            ? hn::Set(d, s.key_mask[key + i])
                            : hn::Load(d, s.query_mask + at + i * s.stride + j * hn::Lanes(d));
      sums.at[i][j] = hn::Add(sums.at[i][j], mask);
    }
  }
}

/// What add_mask does, and fills scores before it or after it.
template <std::size_t R, std::size_t V>
HWY_INLINE void fill_and_mask(const LaneBlock& s, std::size_t at, std::size_t key,
                              Sums<R, V>& sums) {
  const FloatTag d;
  const hn::Rebind<std::uint8_t, FloatTag> bytes;
  const hn::RebindToSigned<FloatTag> wide;
  if (s.fill_last && s.masked()) add_mask(s, at, key, sums);
  const auto fill = hn::Set(d, s.fill);
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      const auto filled = hn::LoadU(bytes, s.filled + at + i * s.stride + j * hn::Lanes(d));
      const auto kept = hn::RebindMask(d, hn::Eq(hn::PromoteTo(wide, filled), hn::Zero(wide)));
      sums.at[i][j] = hn::IfThenElse(kept, sums.at[i][j], fill);
    }
  }
  if (!s.fill_last && s.masked()) add_mask(s, at, key, sums);
}

/// Scores of R keys from `key` on. Not unrolled: that takes 3 % longer.
template <std::size_t R, std::size_t V>
HWY_NOINLINE void score_group(const LaneBlock& s, std::size_t lane, std::size_t key) {
  const std::size_t k_stride = s.k_stride, stride = s.stride;
  const float* HWY_RESTRICT k = s.k + key * k_stride;
  const float* HWY_RESTRICT q = s.q + lane;
  Sums<R, V> sums;
  sums.clear();
  for (std::size_t depth = s.depth; depth != 0; --depth, ++k, q += stride) {
    FloatVec row[V];
    load(q, row);
    sums.add(k, k_stride, row);
  }
  const std::size_t at = key * stride + lane;
  if (s.filled != nullptr) {
    fill_and_mask(s, at, key, sums);
  } else if (s.masked()) {
    add_mask(s, at, key, sums);
  }
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) store(sums.at[i], s.x + at + i * stride);
  // Maxima wait until stores are under way: 1 % of both products.
  FloatVec largest[V];
  load(s.sums.largest + lane, largest);
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      largest[j] = hn::Max(largest[j], sums.at[i][j]);
    }
  }
  store(largest, s.sums.largest + lane);
}

template <std::size_t R, std::size_t V>
HWY_INLINE void start_values(const LaneBlock& s, std::size_t lane, std::size_t row,
                             Sums<R, V>& sums) {
  const float* y = s.y + row * s.stride + lane;
  if (s.first) return sums.clear();
  FloatVec shrink[V];
  load(s.sums.shrink + lane, shrink);
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    load(y + i * s.stride, sums.at[i]);
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      sums.at[i][j] = hn::Mul(shrink[j], sums.at[i][j]);
    }
  }
}

template <std::size_t R, std::size_t V>
HWY_INLINE void finish_values(const LaneBlock& s, std::size_t lane, std::size_t row,
                              const Sums<R, V>& sums) {
  float* y = s.y + row * s.stride + lane;
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) store(sums.at[i], y + i * s.stride);
}

/// R rows of y from `row` on.
template <std::size_t R, std::size_t V>
HWY_NOINLINE void value_group(const LaneBlock& s, std::size_t lane, std::size_t row) {
  const std::size_t stride = s.stride, v_stride = s.v_stride;
  const float* HWY_RESTRICT v = s.v + row;
  const float* HWY_RESTRICT x = s.x + lane;
  Sums<R, V> sums;
  start_values(s, lane, row, sums);
  for (std::size_t keys = s.keys; keys != 0; --keys, v += v_stride, x += stride) {
    FloatVec weights[V];
    load(x, weights);
    sums.add(v, 1, weights);
  }
  finish_values(s, lane, row, sums);
}

/// Makes V vectors of scores weights and adds them up.
template <std::size_t V, class Power>
struct Weights {
  Power power;
  FloatVec largest[V], sums[V];

  HWY_INLINE void make(float* x, FloatVec (&weights)[V]) {
    const FloatTag d;
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      float* at = x + j * hn::Lanes(d);
      weights[j] = power(hn::Sub(hn::Load(d, at), largest[j]));
      hn::Store(weights[j], d, at);
      sums[j] = hn::Add(sums[j], weights[j]);
    }
  }
};

/// The first R rows of y; also makes scores weights. Those of the next key are on their way while
/// products use those of this one: a power takes as long as a dozen products.
template <std::size_t R, std::size_t V, class Power>
HWY_NOINLINE void first_values(const LaneBlock& s, std::size_t lane, const Power& power) {
  const std::size_t stride = s.stride, v_stride = s.v_stride;
  Weights<V, Power> make{power, {}, {}};
  load(s.sums.largest + lane, make.largest);
  load(s.sums.sum + lane, make.sums);
  const float* HWY_RESTRICT v = s.v;
  float* HWY_RESTRICT x = s.x + lane;
  Sums<R, V> sums;
  start_values(s, lane, 0, sums);
  FloatVec weights[V], next[V];
  make.make(x, weights);
  for (std::size_t keys = s.keys; keys > 1; --keys, v += v_stride) {
    x += stride;
    make.make(x, next);
    sums.add(v, 1, weights);
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) weights[j] = next[j];
  }
  sums.add(v, 1, weights);
  finish_values(s, lane, 0, sums);
  store(make.sums, s.sums.sum + lane);
}

using Group = void (*)(const LaneBlock&, std::size_t lane, std::size_t row);

template <std::size_t V, std::size_t... R>
HWY_INLINE void all_scores(const LaneBlock& s, std::size_t lane, std::index_sequence<R...>) {
  static constexpr Group kTable[] = {score_group<R + 1, V>...};
  run_groups(kTable, s, lane, 0, s.keys);
}

template <std::size_t V, std::size_t... R>
HWY_INLINE void other_values(const LaneBlock& s, std::size_t lane, std::size_t row,
                             std::index_sequence<R...>) {
  static constexpr Group kTable[] = {value_group<R + 1, V>...};
  run_groups(kTable, s, lane, row, s.width);
}

/// Rows of y while weights are computed: two vectors of queries leave registers for the powers.
constexpr std::size_t kFirstRows = kVectors == 4 ? 8 : 4;

template <class Power>
HWY_INLINE std::size_t weigh_lanes(const LaneBlock& s, std::size_t lane, std::size_t end,
                                   const Power& power) {
  const std::size_t lanes = hn::Lanes(FloatTag());
  const bool wide = s.width >= kFirstRows;
  for (; lane + 2 * lanes <= end; lane += 2 * lanes)
    wide ? first_values<kFirstRows, 2>(s, lane, power) : first_values<1, 2>(s, lane, power);
  if (lane < end)
    wide ? first_values<kFirstRows, 1>(s, lane, power) : first_values<1, 1>(s, lane, power);
  return wide ? kFirstRows : 1;
}

/// Before scores: the sums of nothing, or a copy of the maximum.
HWY_INLINE void start_sums(const LaneBlock& s) {
  const FloatTag d;
  for (std::size_t lane = 0; lane < s.stride; lane += hn::Lanes(d)) {
    if (s.first) {
      hn::Store(hn::Set(d, std::numeric_limits<float>::lowest()), d, s.sums.largest + lane);
      hn::Store(hn::Zero(d), d, s.sums.sum + lane);
    }
    hn::Store(hn::Load(d, s.sums.largest + lane), d, s.sums.shrink + lane);
  }
}

template <std::size_t V, class Power>
HWY_INLINE void run_lanes(const LaneBlock& s, std::size_t lane, const Power& power) {
  constexpr std::make_index_sequence<rows_for(V)> kRows;
  const FloatTag d;
  const std::size_t end = lane + V * hn::Lanes(d);
  all_scores<V>(s, lane, kRows);
  for (std::size_t at = lane; at < end; at += hn::Lanes(d)) {
    const auto before = hn::Load(d, s.sums.shrink + at);
    const auto shrink = power(hn::Sub(before, hn::Load(d, s.sums.largest + at)));
    hn::Store(shrink, d, s.sums.shrink + at);
    hn::Store(hn::Mul(shrink, hn::Load(d, s.sums.sum + at)), d, s.sums.sum + at);
  }
  const std::size_t row = weigh_lanes(s, lane, end, power);
  other_values<V>(s, lane, row, kRows);
}

template <class Power>
void run_block(const LaneBlock& s, const Power& power) {
  start_sums(s);
  const std::size_t lanes = hn::Lanes(FloatTag()), panel = kVectors * lanes;
  std::size_t lane = 0;
  for (; lane + panel <= s.stride; lane += panel) run_lanes<kVectors>(s, lane, power);
  switch ((s.stride - lane) / lanes) {
    case 1:
      return run_lanes<1>(s, lane, power);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    case 2:
      return run_lanes<2>(s, lane, power);
    case 3:
      return run_lanes<3>(s, lane, power);
#endif
    default:
      return;
  }
}

}  // namespace

void block_of_lanes(const LaneBlock& s) {
  if (s.adjusted()) {
    run_block(s, PowerOfTwo<true>(std::numbers::log2e_v<float>));
  } else {
    run_block(s, PowerOfTwo<false>());
  }
}

void scale_lanes(float* x, std::size_t n, float factor) {
  const FloatTag d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d))
    hn::Store(hn::Mul(hn::Load(d, x + i), hn::Set(d, factor)), d, x + i);
}

void divide_lanes(float* y, std::size_t width, std::size_t stride, const float* sum) {
  const FloatTag d;
  for (std::size_t lane = 0; lane < stride; lane += hn::Lanes(d)) {
    const auto factor = hn::Div(hn::Set(d, 1.0F), hn::Load(d, sum + lane));
    for (float* at = y + lane; at < y + width * stride; at += stride)
      hn::Store(hn::Mul(hn::Load(d, at), factor), d, at);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(scale_lanes);
HWY_EXPORT(block_of_lanes);
HWY_EXPORT(divide_lanes);

void lane_scale(float* x, std::size_t n, float factor) {
  HWY_DYNAMIC_DISPATCH(scale_lanes)(x, n, factor);
}

void lane_block(const LaneBlock& block) { HWY_DYNAMIC_DISPATCH(block_of_lanes)(block); }

void lane_divide(float* y, std::size_t width, std::size_t stride, const float* sum) {
  HWY_DYNAMIC_DISPATCH(divide_lanes)(y, width, stride, sum);
}

}  // namespace parallax
#endif  // HWY_ONCE
