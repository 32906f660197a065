// Limits sums that are in registers. Included once per target (the guard toggles).
#include <hwy/highway.h>

#include "kernels/cpu/bounds.h"
#include "kernels/cpu/math_inl.h"
#include "kernels/cpu/unroll.h"

#if defined(PX_KERNELS_CPU_BOUNDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PX_KERNELS_CPU_BOUNDS_INL_H_
#undef PX_KERNELS_CPU_BOUNDS_INL_H_
#else
#define PX_KERNELS_CPU_BOUNDS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {

/// Limits the first `count` vectors of an array. Bounds that change nothing cost a comparison.
template <std::size_t count, class D, std::size_t N, class V = hn::Vec<D>>
HWY_INLINE void limit(D d, const Bounds& bounds, V (&sums)[N]) {
  if (bounds.has_slope()) {
    PX_UNROLL for (std::size_t i = 0; i < count; ++i) {
      sums[i] = leaky_relu_f32(d, sums[i], bounds.slope);
    }
  }
  if (bounds.has_low()) {
    const V low = hn::Set(d, bounds.low);
    PX_UNROLL for (std::size_t i = 0; i < count; ++i) sums[i] = at_least(sums[i], low);
  }
  if (bounds.has_high()) {
    const V high = hn::Set(d, bounds.high);
    PX_UNROLL for (std::size_t i = 0; i < count; ++i) sums[i] = at_most(sums[i], high);
  }
}

/// The same for the first `count` vectors of each row.
template <std::size_t count, class D, std::size_t R, std::size_t N, class V = hn::Vec<D>>
HWY_INLINE void limit(D d, const Bounds& bounds, V (&sums)[R][N]) {
  if (!bounds.any()) return;
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) limit<count>(d, bounds, sums[i]);
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#endif  // PX_KERNELS_CPU_BOUNDS_INL_H_
