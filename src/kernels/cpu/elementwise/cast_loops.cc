#include "kernels/cpu/elementwise/cast_loops.h"

#include <cstdint>

#include "kernels/cpu/targets.h"
#include "parallax/elements.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/cast_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "kernels/cpu/math_inl.h"

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
// Signed, which compare faster; no number here has the sign bit.
using CastBitsTag = hn::RebindToSigned<FloatTag>;
using CastBits = hn::Vec<CastBitsTag>;
using CastHalfTag = hn::Rebind<std::uint16_t, FloatTag>;

HWY_INLINE CastBits bits_of(std::int32_t bits) { return hn::Set(CastBitsTag(), bits); }

/// As to_float(): instructions for it differ in what they make of denormals, infinities and NaN.
HWY_INLINE CastBits float_bits(CastBits half) {
  const FloatTag d;
  const CastBitsTag db;
  const auto size = hn::And(half, bits_of(0x7fff));
  const auto sign = hn::ShiftLeft<16>(hn::AndNot(bits_of(0x7fff), half));
  const auto tiny = hn::BitCast(db, hn::Mul(hn::ConvertTo(d, size), hn::Set(d, 0x1p-24F)));
  const auto exponent =
      hn::IfThenElse(hn::Gt(size, bits_of(0x7bff)), bits_of(224 << 23), bits_of(112 << 23));
  const auto quiet = hn::IfThenElseZero(hn::Gt(size, bits_of(0x7c00)), bits_of(0x400000));
  const auto normal = hn::Or(hn::Add(hn::ShiftLeft<13>(size), exponent), quiet);
  return hn::Or(sign, hn::IfThenElse(hn::Lt(size, bits_of(0x400)), tiny, normal));
}

/// As to_float16(). Its sign bit is that of 16 bits.
HWY_INLINE CastBits half_bits(CastBits bits) {
  const FloatTag d;
  const CastBitsTag db;
  const auto size = hn::And(bits, bits_of(0x7fffffff));
  const auto sign = hn::And(hn::ShiftRight<16>(bits), bits_of(0x8000));
  const auto one_half = hn::Set(d, 0.5F);
  const auto tiny =
      hn::Sub(hn::BitCast(db, hn::Add(hn::BitCast(d, size), one_half)), hn::BitCast(db, one_half));
  const auto odd = hn::And(hn::ShiftRight<13>(size), bits_of(1));
  const auto normal = hn::ShiftRight<13>(hn::Add(hn::Add(size, bits_of(0xfff - (112 << 23))), odd));
  const auto large =
      hn::IfThenElse(hn::Gt(size, bits_of(0x7f800000)), bits_of(0x7e00), bits_of(0x7c00));
  const auto finite = hn::IfThenElse(hn::Lt(size, bits_of(0x47800000)), normal, large);
  return hn::Or(sign, hn::IfThenElse(hn::Lt(size, bits_of(0x38800000)), tiny, finite));
}

}  // namespace

void halves_to_floats(const Float16* x, float* y, std::size_t n) {
  const CastBitsTag db;
  const std::size_t lanes = hn::Lanes(db);
  const auto* const from = reinterpret_cast<const std::uint16_t*>(x);
  auto* const to = reinterpret_cast<std::int32_t*>(y);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(float_bits(hn::PromoteTo(db, hn::LoadU(CastHalfTag(), from + i))), db, to + i);
  for (; i < n; ++i) y[i] = to_float(x[i]);
}

void floats_to_halves(const float* x, Float16* y, std::size_t n) {
  const CastBitsTag db;
  const std::size_t lanes = hn::Lanes(db);
  const auto* const from = reinterpret_cast<const std::int32_t*>(x);
  auto* const to = reinterpret_cast<std::uint16_t*>(y);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::DemoteTo(CastHalfTag(), half_bits(hn::LoadU(db, from + i))), CastHalfTag(),
               to + i);
  for (; i < n; ++i) y[i] = to_float16(x[i]);
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace parallax {
HWY_EXPORT(halves_to_floats);
HWY_EXPORT(floats_to_halves);

void cast_halves_to_floats(const std::byte* x, std::byte* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(halves_to_floats)
  (reinterpret_cast<const Float16*>(x), reinterpret_cast<float*>(y), n);
}

void cast_floats_to_halves(const std::byte* x, std::byte* y, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(floats_to_halves)
  (reinterpret_cast<const float*>(x), reinterpret_cast<Float16*>(y), n);
}

}  // namespace parallax
#endif  // HWY_ONCE
