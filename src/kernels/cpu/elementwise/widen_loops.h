// Small integers and bools as f32, for the instruction set of this machine. Chains use them for
// their Cast steps. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallax/dtype.h"

namespace parallax {

/// Dtypes that widen_to_floats() accepts.
inline constexpr DTypeSet kWidenedTypes = dtype_bit(DType::kBool) | dtype_bit(DType::kU8) |
                                          dtype_bit(DType::kI8) | dtype_bit(DType::kI32);
/// Converts n elements of dtype `from`, one of kWidenedTypes, to f32; i32 of more than 24 bits are
/// rounded to the nearest, bools are 0 or 1. x may have any alignment and must not overlap y.
/// Integers of 8 bits are exact.
void widen_to_floats(DType from, const std::byte* x, float* y, std::size_t n);

}  // namespace parallax
