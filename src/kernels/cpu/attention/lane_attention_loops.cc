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
#include "kernels/cpu/attention/lane_loops_inl.h"

namespace parallax {
namespace HWY_NAMESPACE {
namespace {

struct F32 {
  using Element = float;
  using Row = FloatVec;

  static HWY_INLINE Row load(const float* from) { return hn::Load(FloatTag(), from); }
  static HWY_INLINE Row broadcast(const float* from) { return hn::Set(FloatTag(), *from); }
  static HWY_INLINE FloatVec add(Row a, Row b, FloatVec sums) { return hn::MulAdd(a, b, sums); }
  static HWY_INLINE std::size_t steps(std::size_t keys) { return keys; }
  static HWY_INLINE void pad(const LaneBlock&, std::size_t, std::size_t) {}

  template <std::size_t R, std::size_t V>
  static HWY_INLINE void start(const LaneBlock& s, std::size_t lane, std::size_t row,
                               Sums<R, V>& sums) {
    const float* y = s.y + row * s.stride + lane;
    if (s.first) return sums.clear();
    FloatVec shrink[V];
    parallax::HWY_NAMESPACE::load(s.sums.shrink + lane, shrink);
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      parallax::HWY_NAMESPACE::load(y + i * s.stride, sums.at[i]);
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
        sums.at[i][j] = hn::Mul(shrink[j], sums.at[i][j]);
      }
    }
  }

  template <std::size_t R, std::size_t V>
  static HWY_INLINE void finish(const LaneBlock& s, std::size_t lane, std::size_t row,
                                const Sums<R, V>& sums) {
    float* y = s.y + row * s.stride + lane;
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) store(sums.at[i], y + i * s.stride);
  }

  template <std::size_t V, class Power>
  struct Weights {
    Power power;
    FloatVec largest[V], sums[V];
    float* HWY_RESTRICT x;
    std::size_t stride;

    HWY_INLINE Weights(const LaneBlock& s, std::size_t lane, const Power& p)
        : power(p), x(s.x + lane), stride(s.stride) {}
    HWY_INLINE void next(FloatVec (&weights)[V]) {
      const FloatTag d;
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
        float* at = x + j * hn::Lanes(d);
        weights[j] = power(hn::Sub(hn::Load(d, at), largest[j]));
        hn::Store(weights[j], d, at);
        sums[j] = hn::Add(sums[j], weights[j]);
      }
      x += stride;
    }
  };
};

}  // namespace

void block_of_lanes(const LaneBlock& s) {
  if (s.adjusted()) {
    run_block<F32>(s, PowerOfTwo<true>(std::numbers::log2e_v<float>));
  } else {
    run_block<F32>(s, PowerOfTwo<false>());
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
