// Real numbers as bytes and back, for the instruction set of this machine. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// How bytes stand for real numbers: (byte - zero) * scale, the byte being signed or not.
struct ByteScale {
  float scale = 1;
  std::int32_t zero = 0;
  bool is_signed = false;
};

/// y[i] = x[i] / scale, rounded to the nearest, ties to even, plus zero, within the type; NaN is
/// zero.
void quantise_bytes(const ByteScale& as, const float* x, std::uint8_t* y, std::size_t n);
void dequantise_bytes(const ByteScale& as, const std::uint8_t* x, float* y, std::size_t n);

/// The least of all elements and 0, and the greatest of them and 0; NaN counts as 0.
struct RealRange {
  float low = 0, high = 0;
};
RealRange range_of(const float* x, std::size_t n);

}  // namespace parallax
