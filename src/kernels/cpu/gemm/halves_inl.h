// Vectors of f16 as f32. Included once per target (the guard toggles).
#include <hwy/highway.h>

#include "kernels/cpu/math_inl.h"

#if defined(PX_KERNELS_CPU_GEMM_HALVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PX_KERNELS_CPU_GEMM_HALVES_INL_H_
#undef PX_KERNELS_CPU_GEMM_HALVES_INL_H_
#else
#define PX_KERNELS_CPU_GEMM_HALVES_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {

// Without an instruction for it, Highway converts finite numbers only.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM
constexpr bool kConvertsHalves = true;
#else
constexpr bool kConvertsHalves = false;
#endif

/// As many f16 as a vector has f32.
using HalfFloatTag = hwy::HWY_NAMESPACE::Rebind<hwy::float16_t, FloatTag>;

/// Returns a vector of f16 from `x` on as f32, infinities and NaN included. x may have any
/// alignment of an f16. Denormal f16 become normal f32; the conversion is exact.
HWY_INLINE FloatVec widened_halves(FloatTag d, const hwy::float16_t* x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto y = hn::PromoteTo(d, hn::LoadU(HalfFloatTag(), x));
  if constexpr (kConvertsHalves) return y;
  // The exponent of infinities and NaN, which no number has, becomes that of f32.
  const hn::RebindToUnsigned<FloatTag> du;
  const auto bits = hn::BitCast(du, y), exponent = hn::Set(du, 0x7F800000U);
  const auto special = hn::Eq(hn::And(bits, exponent), hn::Set(du, 143U << 23U));
  return hn::BitCast(d, hn::Or(bits, hn::IfThenElseZero(special, exponent)));
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#endif  // PX_KERNELS_CPU_GEMM_HALVES_INL_H_
