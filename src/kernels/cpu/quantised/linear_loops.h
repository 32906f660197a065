// Real numbers as bytes and back, for the instruction set of this machine. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// Mapping of bytes to real numbers: (byte - zero) * scale, ONNX's linear quantisation. Bytes are
/// i8 if `is_signed`, else u8.
struct ByteScale {
  float scale = 1;
  std::int32_t zero = 0;
  bool is_signed = false;
};

/// Writes x[i] / scale, rounded to the nearest, ties to even, plus `zero`, saturated to the range
/// of the type; NaN becomes `zero`. Divides rather than multiplies by a reciprocal, so that results
/// are those of the reference kernel.
void quantise_bytes(const ByteScale& as, const float* x, std::uint8_t* y, std::size_t n);
/// Writes (x[i] - zero) * scale for n bytes.
void dequantise_bytes(const ByteScale& as, const std::uint8_t* x, float* y, std::size_t n);

/// Smallest of all elements and 0, and largest of them and 0, as DynamicQuantizeLinear needs; NaN
/// counts as 0.
struct RealRange {
  float low = 0, high = 0;
};
/// For a row of n elements at any alignment of a float; {0, 0} if n is 0.
RealRange range_of(const float* x, std::size_t n);

}  // namespace parallax
