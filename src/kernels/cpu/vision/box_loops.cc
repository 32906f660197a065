#include "kernels/cpu/vision/box_loops.h"

#include <algorithm>
#include <limits>

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vision/box_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The same as std::min and std::max, also for NaN: the first operand if they do not compare.
HWY_INLINE FloatVec lower(FloatVec a, FloatVec b) { return hn::IfThenElse(hn::Lt(b, a), b, a); }
HWY_INLINE FloatVec upper(FloatVec a, FloatVec b) { return hn::IfThenElse(hn::Lt(a, b), b, a); }

}  // namespace

/// Implements BoxList::overlaps() with the operations of the reference in the same order, so that
/// the same boxes are chosen.
bool overlaps_any(const BoxList& list, const BoxCorners& box, float threshold) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto x0 = hn::Set(d, box.x0), y0 = hn::Set(d, box.y0);
  const auto x1 = hn::Set(d, box.x1), y1 = hn::Set(d, box.y1);
  const auto area = hn::Set(d, box.area()), most = hn::Set(d, threshold), zero = hn::Zero(d);
  // Divides only if a product leaves open whether the quotient exceeds the threshold.
  // Whatever the product rounds to, the quotient of those below it rounds to the threshold at most.
  const auto less = hn::Set(d, threshold * 0.9999F);
  for (std::size_t i = 0; i < list.size(); i += lanes) {
    const auto width = hn::Sub(lower(x1, hn::LoadU(d, list.field(2) + i)),
                               upper(x0, hn::LoadU(d, list.field(0) + i)));
    const auto height = hn::Sub(lower(y1, hn::LoadU(d, list.field(3) + i)),
                                upper(y0, hn::LoadU(d, list.field(1) + i)));
    const auto both = hn::Mul(width, height);
    const auto either = hn::Sub(hn::Add(area, hn::LoadU(d, list.field(4) + i)), both);
    const auto meet = hn::And(hn::Gt(width, zero), hn::Gt(height, zero));
    const auto near = hn::AndNot(hn::Lt(both, hn::Mul(less, either)), meet);
    if (hn::AllFalse(d, near)) continue;
    if (!hn::AllFalse(d, hn::And(near, hn::Gt(hn::Div(both, either), most)))) return true;
  }
  return false;
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(overlaps_any);

void BoxList::append(const BoxCorners& box) {
  constexpr float kFar = std::numeric_limits<float>::infinity();
  if (size_ % kGroup == 0) {
    for (std::size_t field = 0; field < 5; ++field)
      std::fill_n(memory_ + field * stride_ + size_, kGroup, field < 2 ? kFar : -kFar);
  }
  const float fields[] = {box.x0, box.y0, box.x1, box.y1, box.area()};
  for (std::size_t field = 0; field < 5; ++field) memory_[field * stride_ + size_] = fields[field];
  ++size_;
}

bool BoxList::overlaps(const BoxCorners& box, float threshold) const {
  return HWY_DYNAMIC_DISPATCH(overlaps_any)(*this, box, threshold);
}

}  // namespace parallax
#endif  // HWY_ONCE
