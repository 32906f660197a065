#include "kernels/cpu/elementwise/widen_loops.h"

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/widen_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using WideTag = hn::RebindToSigned<FloatTag>;

HWY_INLINE hn::Vec<WideTag> load_wide(const std::int32_t* x) { return hn::LoadU(WideTag(), x); }
template <class T>
HWY_INLINE hn::Vec<WideTag> load_wide(const T* x) {
  return hn::PromoteTo(WideTag(), hn::LoadU(hn::Rebind<T, FloatTag>(), x));
}

template <class T>
HWY_INLINE void widen_row(const std::byte* bytes, float* y, std::size_t n) {
  const T* x = reinterpret_cast<const T*>(bytes);
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::ConvertTo(d, load_wide(x + i)), d, y + i);
  for (; i < n; ++i) y[i] = static_cast<float>(x[i]);
}

/// 1 for bytes other than 0.
HWY_INLINE void widen_bools(const std::byte* bytes, float* y, std::size_t n) {
  const auto* const x = reinterpret_cast<const std::uint8_t*>(bytes);
  const FloatTag d;
  const WideTag wide;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto is_true = hn::RebindMask(d, hn::Ne(load_wide(x + i), hn::Zero(wide)));
    hn::StoreU(hn::IfThenElseZero(is_true, hn::Set(d, 1.0F)), d, y + i);
  }
  for (; i < n; ++i) y[i] = x[i] != 0 ? 1.0F : 0.0F;
}

}  // namespace

void widen(DType from, const std::byte* x, float* y, std::size_t n) {
  if (from == DType::kBool) return widen_bools(x, y, n);
  if (from == DType::kU8) return widen_row<std::uint8_t>(x, y, n);
  if (from == DType::kI8) return widen_row<std::int8_t>(x, y, n);
  widen_row<std::int32_t>(x, y, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(widen);

void widen_to_floats(DType from, const std::byte* x, float* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(widen)(from, x, y, n);
}

}  // namespace parallax
#endif  // HWY_ONCE
