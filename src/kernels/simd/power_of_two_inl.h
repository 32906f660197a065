// 2^x for weights of a softmax. Included once per target (the guard toggles).
#include "kernels/simd/math_inl.h"

#if defined(PX_KERNELS_SIMD_POWER_OF_TWO_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PX_KERNELS_SIMD_POWER_OF_TWO_INL_H_
#undef PX_KERNELS_SIMD_POWER_OF_TWO_INL_H_
#else
#define PX_KERNELS_SIMD_POWER_OF_TWO_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// 2^(factor * x) for factor * x <= 0, with 12 instructions instead of the 25 of exp_f32: what is
/// below 2^-126 is 0, which no sum of weights notices. Relative error 2e-7. NaN stays. Without a
/// factor two of the multiplications become additions, for which there are units that a product
/// leaves idle. What is rounded to bf16 afterwards may be coarse: a cubic has a relative error of
/// 7.5e-5, a thirtieth of that rounding's.
template <bool kFactor, bool kCoarse = false>
struct PowerOfTwo {
  FloatVec factor, lowest;

  explicit PowerOfTwo(float f = 1)
      : factor(hn::Set(FloatTag(), f)), lowest(hn::Set(FloatTag(), -127.0F / f)) {}

  HWY_INLINE FloatVec operator()(FloatVec x) const {
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> di;
    x = hn::Max(lowest, x);  // the second where it is no number
    // Adding 1.5 * 2^23 rounds to an integer; with the 127 the low bits are the biased exponent.
    const auto magic = hn::Set(d, 12582912.0F + 127.0F);
    const auto shifted = kFactor ? hn::MulAdd(x, factor, magic) : hn::Add(x, magic);
    const auto whole = hn::Sub(shifted, magic);
    const auto r = kFactor ? hn::MulSub(x, factor, whole) : hn::Sub(x, whole);
    const auto power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
    if constexpr (kCoarse) {
      auto c = hn::MulAdd(r, hn::Set(d, 5.517166480e-02F), hn::Set(d, 2.426111251e-01F));
      c = hn::MulAdd(c, r, hn::Set(d, 6.932609677e-01F));
      return hn::Mul(hn::MulAdd(c, r, hn::Set(d, 9.999280572e-01F)), power);
    }
    const auto square = hn::Mul(r, r);
    auto p = hn::MulAdd(r, hn::Set(d, 1.326472739e-03F), hn::Set(d, 9.671512910e-03F));
    const auto q = hn::MulAdd(r, hn::Set(d, 5.550733745e-02F), hn::Set(d, 2.402224208e-01F));
    const auto s = hn::MulAdd(r, hn::Set(d, 6.931469776e-01F), hn::Set(d, 1.0F));
    p = hn::MulAdd(hn::MulAdd(p, square, q), square, s);
    return hn::Mul(p, power);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#endif  // PX_KERNELS_SIMD_POWER_OF_TWO_INL_H_
