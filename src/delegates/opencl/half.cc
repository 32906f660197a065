#include "delegates/opencl/half.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace parallax::opencl {

std::uint16_t half_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  constexpr std::uint32_t kInfinity = 0x7C00, kLargest = 0x7BFF, kNan = 0x7E00;
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | kNan);
  if (std::isinf(x)) return static_cast<std::uint16_t>(sign | kInfinity);
  const float magnitude = std::fabs(x);
  if (magnitude >= 65504.0F) return static_cast<std::uint16_t>(sign | kLargest);
  // Below 2^-14 steps are 2^-24; where x lands on 2^-14, the bits are those of a normal number.
  if (magnitude < 0x1p-14F) {
    const auto steps = static_cast<std::uint32_t>(std::nearbyint(magnitude * 0x1p24F));
    return static_cast<std::uint16_t>(sign | steps);
  }
  // 13 bits fewer, rounded to the nearest, of two to the even one; the exponent's bias is 112 less.
  const std::uint32_t whole = bits & 0x7FFFFFFFU;
  const std::uint32_t rounded = whole + 0xFFFU + (whole >> 13U & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded >> 13U) - (112U << 10U)));
}

std::vector<std::byte> halves_of(std::span<const std::byte> floats) {
  std::vector<std::byte> halves(floats.size() / 2);
  for (std::size_t i = 0; i < floats.size() / sizeof(float); ++i) {
    float x = 0;
    std::memcpy(&x, floats.data() + i * sizeof(x), sizeof(x));
    const std::uint16_t half = half_of(x);
    std::memcpy(halves.data() + i * sizeof(half), &half, sizeof(half));
  }
  return halves;
}

}  // namespace parallax::opencl
