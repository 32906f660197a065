#include "kernels/cpu/vision/gather_loops.h"

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vision/gather_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Writes the results from i on in whole vectors of D, and returns the first that is left.
template <class D>
HWY_INLINE std::size_t gather_vectors(D d, const float* plane, const GatheredTaps& taps,
                                      std::size_t i, float* y) {
  const hn::RebindToSigned<D> di;
  const std::size_t lanes = hn::Lanes(d);
  for (; i + lanes <= taps.n; i += lanes) {
    auto sum = hn::Zero(d);
    for (std::size_t t = 0; t < taps.taps; ++t) {
      const auto weight = hn::LoadU(d, taps.weight + t * taps.stride + i);
      const auto x = hn::GatherIndex(d, plane, hn::LoadU(di, taps.index + t * taps.stride + i));
      sum = hn::MulAdd(weight, hn::IfThenElseZero(hn::Ne(weight, hn::Zero(d)), x), sum);
    }
    hn::StoreU(sum, d, y + i);
  }
  return i;
}

void gather_sums(const float* plane, const GatheredTaps& taps, float* y) {
  const std::size_t i = gather_vectors(FloatTag(), plane, taps, 0, y);
  gather_vectors(hn::CappedTag<float, 1>(), plane, taps, i, y);  // rounds as whole vectors do
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(gather_sums);

void gather_weighted(const float* plane, const GatheredTaps& taps, float* y) {
  HWY_DYNAMIC_DISPATCH(gather_sums)(plane, taps, y);
}

}  // namespace parallax
#endif  // HWY_ONCE
