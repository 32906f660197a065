// Products of rows of bytes with packed weights of 8 bits. Thread-safe.
#pragma once

#include <memory>

#include "kernels/cpu/quantised/requantisation.h"

namespace parallax {

/// Creates the kernel that multiplies dense rows of X, `weights.depth` bytes each, with the
/// weights. X is u8 or i8; the result is u8, i8, i32 or f32, as the requantisation says. The kernel
/// is immutable.
std::unique_ptr<Kernel> make_byte_rows(std::int64_t rows, PackedMatrix weights,
                                       Requantisation requantisation, const Machine& machine);

/// Copies `n` bytes with bit 7 inverted, which converts i8 to u8 with an offset of 128, and back.
/// `to` may be `from`.
void turn_signs(const std::uint8_t* from, std::uint8_t* to, std::size_t n);

}  // namespace parallax
