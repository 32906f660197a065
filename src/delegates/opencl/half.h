// Conversion of floats to 16 bits (IEEE 754 binary16), as in kernels/common.cl. Thread-safety: pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace parallax::opencl {

/// Returns the nearest number, ties to even. Numbers beyond the range become the largest finite
/// one; infinities and NaN stay. Numbers below 2^-14 in magnitude become subnormal or zero; a NaN
/// keeps its sign only.
std::uint16_t half_of(float x);

/// Converts 32-bit floats at any alignment. REQUIRES: a multiple of four bytes. The result has half
/// as many bytes, in the order of the input.
std::vector<std::byte> halves_of(std::span<const std::byte> floats);

}  // namespace parallax::opencl
