// Where one library hands matrix products over to another.
#pragma once

#include <cstdint>

namespace parallax {

/// f32 products with at most this many rows in the left operand and constant right operand are
/// bound by streaming the weights: the packed kernels of simd/ take them and oneDNN refuses them.
inline constexpr std::int64_t kSmallMatMulRows = 64;

}  // namespace parallax
