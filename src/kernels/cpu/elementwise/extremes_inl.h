// Min and Max of two vectors, lane by lane, as ONNX defines them: NaN if either operand is NaN,
// unlike Highway's Min and Max, which depend on the target. Included once per target (the guard
// toggles).
#include <hwy/highway.h>

// Every target gives the same bits.
#if defined(PX_KERNELS_CPU_EXTREMES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PX_KERNELS_CPU_EXTREMES_INL_H_
#undef PX_KERNELS_CPU_EXTREMES_INL_H_
#else
#define PX_KERNELS_CPU_EXTREMES_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {

/// Returns the smaller operand; b if they are equal, so that of 0 and -0 the second is returned. V
/// is a vector of f32.
template <class V>
HWY_INLINE V smaller_f32(V a, V b) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
}

/// Returns the larger operand; b if they are equal. A NaN in b is returned because no comparison
/// with it is true.
template <class V>
HWY_INLINE V larger_f32(V a, V b) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(a)), a, b);
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#endif  // PX_KERNELS_CPU_EXTREMES_INL_H_
