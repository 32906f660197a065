#include "kernels/simd/lane_attention_loops.h"

#include <limits>
#include <numbers>
#include <utility>

#include "kernels/simd/targets.h"
#include "kernels/simd/unroll.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/lane_attention_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/simd/power_of_two_inl.h"
#include "kernels/simd/registers_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// A vector of queries: x += mask, and the largest of it.
HWY_INLINE FloatVec mask_lanes(const LaneScores& s, std::size_t lane) {
  const FloatTag d;
  auto most = hn::Set(d, std::numeric_limits<float>::lowest());
  for (std::size_t k = 0; k < s.keys; ++k) {
    float* x = s.x + k * s.stride + lane;
    const auto mask = s.key_mask != nullptr ? hn::Set(d, s.key_mask[k])
                                            : hn::Load(d, s.query_mask + k * s.stride + lane);
    const auto v = hn::Add(hn::Load(d, x), mask);
    hn::Store(v, d, x);
    most = hn::Max(most, v);
  }
  return most;
}

HWY_INLINE FloatVec largest_of(const LaneScores& s, std::size_t lane) {
  const FloatTag d;
  const float* x = s.x + lane;
  auto a = hn::Set(d, std::numeric_limits<float>::lowest()), b = a;
  std::size_t k = 0;
  for (; k + 2 <= s.keys; k += 2, x += 2 * s.stride) {
    a = hn::Max(a, hn::Load(d, x));
    b = hn::Max(b, hn::Load(d, x + s.stride));
  }
  if (k < s.keys) b = hn::Max(b, hn::Load(d, x));
  return hn::Max(a, b);
}

/// x becomes power(x - largest); returns the sums.
template <class Power>
HWY_INLINE FloatVec powers_of(const LaneScores& s, std::size_t lane, FloatVec largest,
                              const Power& power) {
  const FloatTag d;
  float* x = s.x + lane;
  auto a = hn::Zero(d), b = hn::Zero(d);
  std::size_t k = 0;
  for (; k + 2 <= s.keys; k += 2, x += 2 * s.stride) {
    const auto u = power(hn::Sub(hn::Load(d, x), largest));
    const auto v = power(hn::Sub(hn::Load(d, x + s.stride), largest));
    hn::Store(u, d, x);
    hn::Store(v, d, x + s.stride);
    a = hn::Add(a, u);
    b = hn::Add(b, v);
  }
  if (k < s.keys) {
    const auto u = power(hn::Sub(hn::Load(d, x), largest));
    hn::Store(u, d, x);
    a = hn::Add(a, u);
  }
  return hn::Add(a, b);
}

template <class Power, class Largest>
HWY_INLINE void weigh(const LaneScores& s, const Power& power, const Largest& largest) {
  const FloatTag d;
  for (std::size_t lane = 0; lane < s.stride; lane += hn::Lanes(d)) {
    auto most = largest(s, lane);
    auto before = hn::Zero(d), shrink = hn::Zero(d);
    if (!s.first) {
      before = hn::Load(d, s.sums.largest + lane);
      most = hn::Max(most, before);
      shrink = power(hn::Sub(before, most));
      before = hn::Load(d, s.sums.sum + lane);
    }
    const auto sum = powers_of(s, lane, most, power);
    hn::Store(most, d, s.sums.largest + lane);
    hn::Store(shrink, d, s.sums.shrink + lane);
    hn::Store(hn::MulAdd(before, shrink, sum), d, s.sums.sum + lane);
  }
}

/// R rows of y, V vectors of queries.
template <std::size_t R, std::size_t V>
HWY_INLINE void multiply_group(const LaneValues& s, std::size_t lane, std::size_t row) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  float* y = s.y + row * s.stride + lane;
  FloatVec sums[R][V];
  PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      sums[i][j] = s.shrink == nullptr ? hn::Zero(d)
                                       : hn::Mul(hn::Load(d, s.shrink + lane + j * lanes),
                                                 hn::Load(d, y + i * s.stride + j * lanes));
    }
  }
  const float* HWY_RESTRICT v = s.v + row;
  const float* HWY_RESTRICT x = s.x + lane;
  for (std::size_t k = 0; k < s.keys; ++k, v += s.v_stride, x += s.stride) {
    FloatVec weights[V];
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) weights[j] = hn::Load(d, x + j * lanes);
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      const auto wide = hn::Set(d, v[i]);
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
        sums[i][j] = hn::MulAdd(wide, weights[j], sums[i][j]);
      }
    }
  }
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      hn::Store(sums[i][j], d, y + i * s.stride + j * lanes);
    }
  }
}

using Multiply = void (*)(const LaneValues&, std::size_t lane, std::size_t row);

template <std::size_t R, std::size_t V>
HWY_NOINLINE void multiply_one(const LaneValues& s, std::size_t lane, std::size_t row) {
  multiply_group<R, V>(s, lane, row);
}

/// By rows less one.
template <std::size_t V, std::size_t... R>
Multiply multiply_of(std::size_t rows, std::index_sequence<R...>) {
  constexpr Multiply kTable[] = {multiply_one<R + 1, V>...};
  return kTable[rows - 1];
}

/// All rows of V vectors of queries, in groups of nearly the same size.
template <std::size_t V>
void multiply_lanes(const LaneValues& s, std::size_t lane) {
  constexpr std::size_t kMost = rows_for(V);
  constexpr std::make_index_sequence<kMost> kRows;
  const std::size_t groups = (s.width + kMost - 1) / kMost;
  const std::size_t rows = s.width / groups, larger = s.width % groups;
  const Multiply multiply = multiply_of<V>(rows, kRows);
  const Multiply more = larger == 0 ? multiply : multiply_of<V>(rows + 1, kRows);
  std::size_t row = 0;
  for (std::size_t g = 0; g < larger; ++g, row += rows + 1) more(s, lane, row);
  for (std::size_t g = larger; g < groups; ++g, row += rows) multiply(s, lane, row);
}

}  // namespace

void weigh_lanes(const LaneScores& s) {
  if (s.key_mask != nullptr || s.query_mask != nullptr) {
    weigh(s, PowerOfTwo<true>(std::numbers::log2e_v<float>), mask_lanes);
  } else {
    weigh(s, PowerOfTwo<false>(), largest_of);
  }
}

void scale_lanes(float* x, std::size_t n, float factor) {
  const FloatTag d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d))
    hn::Store(hn::Mul(hn::Load(d, x + i), hn::Set(d, factor)), d, x + i);
}

void multiply_values(const LaneValues& s) {
  const std::size_t lanes = hn::Lanes(FloatTag()), panel = kVectors * lanes;
  std::size_t lane = 0;
  for (; lane + panel <= s.stride; lane += panel) multiply_lanes<kVectors>(s, lane);
  switch ((s.stride - lane) / lanes) {
    case 1:
      return multiply_lanes<1>(s, lane);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    case 2:
      return multiply_lanes<2>(s, lane);
    case 3:
      return multiply_lanes<3>(s, lane);
#endif
    default:
      return;
  }
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
HWY_EXPORT(weigh_lanes);
HWY_EXPORT(scale_lanes);
HWY_EXPORT(multiply_values);
HWY_EXPORT(divide_lanes);

void lane_weights(const LaneScores& scores) { HWY_DYNAMIC_DISPATCH(weigh_lanes)(scores); }

void lane_scale(float* x, std::size_t n, float factor) {
  HWY_DYNAMIC_DISPATCH(scale_lanes)(x, n, factor);
}

void lane_values(const LaneValues& values) { HWY_DYNAMIC_DISPATCH(multiply_values)(values); }

void lane_divide(float* y, std::size_t width, std::size_t stride, const float* sum) {
  HWY_DYNAMIC_DISPATCH(divide_lanes)(y, width, stride, sum);
}

}  // namespace parallax
#endif  // HWY_ONCE
