#include "kernels/cpu/attention/bf16_attention_loops.h"

#include <algorithm>
#include <limits>
#include <numbers>
#include <utility>

#include "kernels/cpu/row_groups.h"
#include "kernels/cpu/targets.h"
#include "kernels/cpu/unroll.h"

#if defined(__x86_64__) && !defined(PX_NO_AVX512)
#include "kernels/cpu/bf16_intrinsics.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/bf16_attention_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"
#include "kernels/cpu/registers_inl.h"

#if HWY_TARGET == HWY_AVX3
// Highway 1.0.3 has no target with products of bf16.
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16")
#include "kernels/cpu/attention/lane_loops_inl.h"

namespace parallax {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kLanes = kBf16Vector;

struct Bf16 {
  using Element = Bf16Pair;
  using Row = __m512bh;

  static HWY_INLINE Row load(const Bf16Pair* from) {
    return reinterpret_cast<__m512bh>(_mm512_load_si512(from));
  }
  static HWY_INLINE Row broadcast(const Bf16Pair* from) {
    return reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(*from)));
  }
  static HWY_INLINE FloatVec add(Row a, Row b, FloatVec sums) {
    return FloatVec{_mm512_dpbf16_ps(sums.raw, a, b)};
  }
  static HWY_INLINE std::size_t steps(std::size_t keys) { return (keys + 1) / 2; }

  /// Pads an odd number of keys with a score of -inf: V has a zero for it, and being less than the
  /// lowest float, which masks use, it has no weight even if all keys are masked.
  static HWY_INLINE void pad(const Bf16LaneBlock& s, std::size_t lane, std::size_t end) {
    if (s.keys % 2 != 0)
      std::fill_n(s.x + s.keys * s.stride + lane, end - lane,
                  -std::numeric_limits<float>::infinity());
  }

  template <std::size_t R, std::size_t V>
  static HWY_INLINE void start(const Bf16LaneBlock&, std::size_t, std::size_t, Sums<R, V>& sums) {
    sums.clear();
  }

  template <std::size_t R, std::size_t V>
  static HWY_INLINE void finish(const Bf16LaneBlock& s, std::size_t lane, std::size_t row,
                                Sums<R, V>& sums) {
    const FloatTag d;
    float* y = s.y + row * s.stride + lane;
    if (!s.first) {
      FloatVec shrink[V];
      parallax::HWY_NAMESPACE::load(s.sums.shrink + lane, shrink);
      PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
        PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
          const auto before = hn::Load(d, y + i * s.stride + j * kLanes);
          sums.at[i][j] = hn::MulAdd(shrink[j], before, sums.at[i][j]);
        }
      }
    }
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) store(sums.at[i], y + i * s.stride);
  }

  /// Converts the scores of two keys to weights, rounded and paired.
  template <std::size_t V, class Power>
  struct Weights {
    Power power;
    FloatVec largest[V], sums[V];
    const float* x;
    Bf16Pair* to;
    std::size_t stride;
    __m512i interleave;

    HWY_INLINE Weights(const Bf16LaneBlock& s, std::size_t lane, const Power& p)
        : power(p),
          x(s.x + lane),
          to(reinterpret_cast<Bf16Pair*>(s.x) + lane),
          stride(s.stride),
          interleave(interleaved_halves()) {}
    HWY_INLINE void next(Row (&pairs)[V]) {
      const FloatTag d;
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
        const float* at = x + j * kLanes;
        const auto a = power(hn::Sub(hn::Load(d, at), largest[j]));
        const auto b = power(hn::Sub(hn::Load(d, at + stride), largest[j]));
        sums[j] = hn::Add(sums[j], hn::Add(a, b));
        const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b.raw, a.raw));
        const __m512i pair = _mm512_permutexvar_epi16(interleave, both);
        _mm512_store_si512(to + j * kLanes, pair);
        pairs[j] = reinterpret_cast<__m512bh>(pair);
      }
      x += 2 * stride;
      to += stride;
    }

   private:
    static HWY_INLINE __m512i interleaved_halves() {
      const __m512i low = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
      const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(16));
      return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
    }
  };
};

/// Functor that returns 2^x, or e^x, for x <= 0, if the result will be rounded to bf16: a cubic on
/// [0, 1), exact at its ends, elsewhere off by 1.03e-4 at most. For -infinity it returns 0, so a
/// row of nothing but -infinity has the sum 0 and its quotients are NaN, as in Softmax. NaN stays.
template <bool kFactor>
struct CoarsePower {
  HWY_INLINE FloatVec operator()(FloatVec v) const {
    __m512 x = v.raw;
    if constexpr (kFactor) x = _mm512_mul_ps(x, _mm512_set1_ps(std::numbers::log2e_v<float>));
    const __m512 r = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    __m512 p = _mm512_fmadd_ps(r, _mm512_set1_ps(7.8267970e-02F), _mm512_set1_ps(2.2630768e-01F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(6.9542435e-01F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F));
    return FloatVec{_mm512_scalef_ps(p, x)};
  }
};

}  // namespace

void bf16_block_of_lanes(const Bf16LaneBlock& s) {
  s.adjusted() ? run_block<Bf16>(s, CoarsePower<true>()) : run_block<Bf16>(s, CoarsePower<false>());
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_POP_ATTRIBUTES
#endif  // HWY_AVX3

#if HWY_ONCE
namespace parallax {
void bf16_lane_block(const Bf16LaneBlock& s) { N_AVX3::bf16_block_of_lanes(s); }
}  // namespace parallax
#endif  // HWY_ONCE

#else

// Unreachable: bf16 is used only if the CPU supports it.
namespace parallax {
void bf16_lane_block(const Bf16LaneBlock&) {}
}  // namespace parallax

#endif
