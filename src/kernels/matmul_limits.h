// Where one library hands matrix products over to another.
#pragma once

#include <cstdint>

namespace parallax {

/// f32 products with at most this many rows in the left operand and constant right operand are
/// bound by streaming the weights: the packed kernels of simd/ take them and oneDNN refuses them.
/// Above it the two are equal on an AVX-512 core (matmul_bench: 0.95 to 1.08 of each other from 65
/// to 1500 rows, both at 88 to 98 % of peak while weights fit the cache).
inline constexpr std::int64_t kSmallMatMulRows = 64;

}  // namespace parallax
