// Conversions between f16 and f32 for the instruction set of this machine, with the bits of
// to_float() and to_float16(). Called by Cast. Thread-safe.
#pragma once

#include <cstddef>

namespace parallax {

/// Converts n elements. x and y have the alignment of their elements and must not overlap. The
/// first reads f16 at x and writes f32 at y, the second the opposite.
void cast_halves_to_floats(const std::byte* x, std::byte* y, std::size_t n);
void cast_floats_to_halves(const std::byte* x, std::byte* y, std::size_t n);

}  // namespace parallax
