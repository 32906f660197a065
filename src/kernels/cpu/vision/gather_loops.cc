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

void gather_sums(const float* plane, const GatheredTaps& taps, float* y) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= taps.n; i += lanes) {
    auto sum = hn::Zero(d);
    for (std::size_t t = 0; t < taps.taps; ++t) {
      const auto weight = hn::LoadU(d, taps.weight + t * taps.stride + i);
      const auto x = hn::GatherIndex(d, plane, hn::LoadU(di, taps.index + t * taps.stride + i));
      sum = hn::MulAdd(weight, hn::IfThenElseZero(hn::Ne(weight, hn::Zero(d)), x), sum);
    }
    hn::StoreU(sum, d, y + i);
  }
  for (; i < taps.n; ++i) {
    float sum = 0;
    for (std::size_t t = 0; t < taps.taps; ++t) {
      const float weight = taps.weight[t * taps.stride + i];
      if (weight != 0.0F) sum += weight * plane[taps.index[t * taps.stride + i]];
    }
    y[i] = sum;
  }
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
