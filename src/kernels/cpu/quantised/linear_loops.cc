#include "kernels/cpu/quantised/linear_loops.h"

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantised/linear_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"
#include "kernels/cpu/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using IntTag = hn::RebindToSigned<FloatTag>;

/// Numbers as integers of Byte's range.
template <class Byte>
struct Quantiser {
  hn::Vec<FloatTag> scale, low, high;
  hn::Vec<IntTag> zero;

  HWY_INLINE explicit Quantiser(const ByteScale& as)
      : scale(hn::Set(FloatTag(), as.scale)),
        low(hn::Set(FloatTag(), static_cast<float>(hwy::LimitsMin<Byte>() - as.zero))),
        high(hn::Set(FloatTag(), static_cast<float>(hwy::LimitsMax<Byte>() - as.zero))),
        zero(hn::Set(IntTag(), as.zero)) {}

  HWY_INLINE auto operator()(hn::Vec<FloatTag> x) const {
    const FloatTag d;
    auto real = hn::Div(x, scale);
    real = hn::IfThenElse(hn::Eq(real, real), real, hn::Zero(d));
    real = hn::Min(hn::Max(real, low), high);
    const hn::Rebind<Byte, FloatTag> bytes;
    return hn::DemoteTo(bytes, hn::Add(hn::NearestInt(real), zero));
  }
};

template <class Byte>
HWY_INLINE void quantise_as(const ByteScale& as, const float* x, Byte* y, std::size_t n) {
  const FloatTag d;
  const hn::Rebind<Byte, FloatTag> bytes;
  const std::size_t lanes = hn::Lanes(d);
  const Quantiser<Byte> quantise(as);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(quantise(hn::LoadU(d, x + i)), bytes, y + i);
  if (i == n) return;
  HWY_ALIGN Byte rest[hn::MaxLanes(FloatTag())];
  hn::StoreU(quantise(load_n(d, x + i, n - i)), bytes, rest);
  for (std::size_t j = 0; i < n; ++i, ++j) y[i] = rest[j];
}

template <class Byte>
HWY_INLINE void dequantise_as(const ByteScale& as, const Byte* x, float* y, std::size_t n) {
  const FloatTag d;
  const IntTag ints;
  const hn::Rebind<Byte, FloatTag> bytes;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, as.scale);
  const auto zero = hn::Set(ints, as.zero);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto whole = hn::Sub(hn::PromoteTo(ints, hn::LoadU(bytes, x + i)), zero);
    hn::StoreU(hn::Mul(hn::ConvertTo(d, whole), scale), d, y + i);
  }
  for (; i < n; ++i) y[i] = static_cast<float>(x[i] - as.zero) * as.scale;
}

}  // namespace

void quantise_all(const ByteScale& as, const float* x, std::uint8_t* y, std::size_t n) {
  if (as.is_signed) return quantise_as(as, x, reinterpret_cast<std::int8_t*>(y), n);
  quantise_as(as, x, y, n);
}

void dequantise_all(const ByteScale& as, const std::uint8_t* x, float* y, std::size_t n) {
  if (as.is_signed) return dequantise_as(as, reinterpret_cast<const std::int8_t*>(x), y, n);
  dequantise_as(as, x, y, n);
}

RealRange range_of_all(const float* x, std::size_t n) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  // Chains of comparisons that do not wait for each other.
  constexpr std::size_t kChains = 4;
  FloatVec low[kChains], high[kChains];
  PX_UNROLL for (std::size_t k = 0; k < kChains; ++k) low[k] = high[k] = hn::Zero(d);
  const auto widen = [&](std::size_t k, const float* at) HWY_ATTR {
    const auto v = hn::LoadU(d, at);
    low[k] = hn::IfThenElse(hn::Lt(v, low[k]), v, low[k]);
    high[k] = hn::IfThenElse(hn::Gt(v, high[k]), v, high[k]);
  };
  std::size_t i = 0;
  for (; i + kChains * lanes <= n; i += kChains * lanes) {
    PX_UNROLL for (std::size_t k = 0; k < kChains; ++k) widen(k, x + i + k * lanes);
  }
  for (; i + lanes <= n; i += lanes) widen(0, x + i);
  PX_UNROLL for (std::size_t k = 1; k < kChains; ++k) {
    low[0] = hn::Min(low[0], low[k]);
    high[0] = hn::Max(high[0], high[k]);
  }
  RealRange range{hn::GetLane(hn::MinOfLanes(d, low[0])), hn::GetLane(hn::MaxOfLanes(d, high[0]))};
  for (; i < n; ++i) {
    if (x[i] < range.low) range.low = x[i];
    if (x[i] > range.high) range.high = x[i];
  }
  return range;
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(quantise_all);
HWY_EXPORT(dequantise_all);
HWY_EXPORT(range_of_all);

void quantise_bytes(const ByteScale& as, const float* x, std::uint8_t* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(quantise_all)(as, x, y, n);
}

void dequantise_bytes(const ByteScale& as, const std::uint8_t* x, float* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(dequantise_all)(as, x, y, n);
}

RealRange range_of(const float* x, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(range_of_all)(x, n);
}

}  // namespace parallax
#endif  // HWY_ONCE
