// Floats in 16 bits (IEEE 754 binary16), as kernels/common.cl writes them. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace parallax::opencl {

/// The nearest one, of two the even one. Numbers beyond its range become the largest finite one;
/// infinities and NaN stay.
std::uint16_t half_of(float x);

/// Of 32-bit floats at any alignment. REQUIRES: a multiple of four bytes.
std::vector<std::byte> halves_of(std::span<const std::byte> floats);

}  // namespace parallax::opencl
