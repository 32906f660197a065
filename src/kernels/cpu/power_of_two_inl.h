// 2^x for weights of a softmax, vectorized. Included once per target (the guard toggles). Pure
// functions; the same bits on every CPU of an instruction set.
#include "kernels/cpu/math_inl.h"

// The loops of attention (cpu/attention) use it, with the factor log2(e) for e^x.
#if defined(PX_KERNELS_CPU_POWER_OF_TWO_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PX_KERNELS_CPU_POWER_OF_TWO_INL_H_
#undef PX_KERNELS_CPU_POWER_OF_TWO_INL_H_
#else
#define PX_KERNELS_CPU_POWER_OF_TWO_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Returns the greater operand; NaN if x is NaN. For NaN, Max() of x86 returns its second operand,
/// Max() of other targets the number, so those compare and select. It limits exponents from below,
/// so that shifts stay inside the exponent's eight bits.
HWY_INLINE FloatVec at_least(FloatVec lowest, FloatVec x) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  return hn::Max(lowest, x);
#else
  return hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
#endif
}

/// Functor that returns 2^(factor * x) for factor * x <= 0, lane by lane. Results below 2^-126 may
/// come out smaller or as 0, which does not change a sum of weights. Relative error 2e-7. NaN
/// stays. With kFactor false the factor is 1 and costs no multiplication: products keep two of a
/// Zen 4's four units busy, so additions replace them if possible.
#if HWY_TARGET == HWY_AVX3
/// 2^(i/16) is read from a table in a register, so a cubic polynomial suffices for the remainder. A
/// table in two registers saves one multiplication and costs as much.
template <bool kFactor>
struct PowerOfTwo {
  /// Bits of 2^(i/16) minus i << 19, which the addition of the exponent restores.
  static constexpr std::uint32_t kRoots[16] = {0x3F800000, 0x3F7DAAC3, 0x3F7B95C2, 0x3F79C3D3,
                                               0x3F7837F0, 0x3F76F532, 0x3F75FED7, 0x3F75583F,
                                               0x3F7504F3, 0x3F7508A4, 0x3F75672A, 0x3F76248C,
                                               0x3F7744FD, 0x3F78CCDF, 0x3F7AC0C7, 0x3F7D257D};
  /// Broadcast constants; `lowest` is the x whose power of two is 2^-127.
  FloatVec factor, lowest, roots;

  /// Sets the factor. REQUIRES: f > 0; f is 1 without kFactor.
  explicit PowerOfTwo(float f = 1)
      : factor(hn::Set(FloatTag(), f)),
        lowest(hn::Set(FloatTag(), -127.0F / f)),
        roots(hn::BitCast(FloatTag(), hn::LoadU(hn::RebindToUnsigned<FloatTag>(), kRoots))) {}

  HWY_INLINE FloatVec operator()(FloatVec x) const {
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> di;
    x = at_least(lowest, x);
    // Adding 1.5 * 2^19 rounds to a 16th: four bits choose the root, those above are the exponent.
    const auto magic = hn::Set(d, 786432.0F);
    const auto shifted = kFactor ? hn::MulAdd(x, factor, magic) : hn::Add(x, magic);
    // |r| <= 1/32.
    const auto near = hn::Sub(shifted, magic);
    const auto r = kFactor ? hn::MulSub(x, factor, near) : hn::Sub(x, near);
    const auto bits = hn::BitCast(di, shifted);
    const FloatVec root{_mm512_permutexvar_ps(bits.raw, roots.raw)};
    const auto power = hn::BitCast(d, hn::Add(hn::BitCast(di, root), hn::ShiftLeft<19>(bits)));
    auto c = hn::MulAdd(r, hn::Set(d, 5.550214e-02F), hn::Set(d, 2.4023429e-01F));
    c = hn::MulAdd(c, r, hn::Set(d, 6.9314718e-01F));
    return hn::MulAdd(hn::Mul(c, r), power, power);
  }
};
#else
template <bool kFactor>
struct PowerOfTwo {
  /// Broadcast constants; `lowest` is the x whose power of two is 2^-127.
  FloatVec factor, lowest;

  /// Sets the factor. REQUIRES: f > 0; f is 1 without kFactor.
  explicit PowerOfTwo(float f = 1)
      : factor(hn::Set(FloatTag(), f)), lowest(hn::Set(FloatTag(), -127.0F / f)) {}

  HWY_INLINE FloatVec operator()(FloatVec x) const {
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> di;
    x = at_least(lowest, x);
    // Adding 1.5 * 2^23 rounds to an integer; with the 127 the low bits are the biased exponent.
    const auto magic = hn::Set(d, 12582912.0F + 127.0F);
    const auto shifted = kFactor ? hn::MulAdd(x, factor, magic) : hn::Add(x, magic);
    // |r| <= 1/2.
    const auto whole = hn::Sub(shifted, magic);
    const auto r = kFactor ? hn::MulSub(x, factor, whole) : hn::Sub(x, whole);
    const auto power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
    // 2^r as a polynomial of degree 5 in Estrin's order: shorter chains of dependent operations.
    const auto square = hn::Mul(r, r);
    auto p = hn::MulAdd(r, hn::Set(d, 1.326472739e-03F), hn::Set(d, 9.671512910e-03F));
    const auto q = hn::MulAdd(r, hn::Set(d, 5.550733745e-02F), hn::Set(d, 2.402224208e-01F));
    const auto s = hn::MulAdd(r, hn::Set(d, 6.931469776e-01F), hn::Set(d, 1.0F));
    p = hn::MulAdd(hn::MulAdd(p, square, q), square, s);
    return hn::Mul(p, power);
  }
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#endif  // PX_KERNELS_CPU_POWER_OF_TWO_INL_H_
