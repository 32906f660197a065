// Small integers as f32, for the instruction set of this machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallax/dtype.h"

namespace parallax {

/// Dtypes that widen_to_floats() accepts.
inline constexpr DTypeSet kWidenedTypes =
    dtype_bit(DType::kU8) | dtype_bit(DType::kI8) | dtype_bit(DType::kI32);
/// y[i] = x[i] for n elements of `from`, one of kWidenedTypes; rounded to nearest.
void widen_to_floats(DType from, const std::byte* x, float* y, std::size_t n);

}  // namespace parallax
