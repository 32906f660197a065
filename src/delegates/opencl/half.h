// Conversion of floats to 16 bits (IEEE 754 binary16), as in kernels/common.cl. Thread-safety: pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace parallax::opencl {

/// Returns the nearest number, ties to even. Numbers beyond the range become the largest finite
/// one; infinities and NaN stay.
std::uint16_t half_of(float x);

/// Converts 32-bit floats at any alignment. REQUIRES: a multiple of four bytes.
std::vector<std::byte> halves_of(std::span<const std::byte> floats);

}  // namespace parallax::opencl
