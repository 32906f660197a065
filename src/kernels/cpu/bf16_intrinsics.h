// The intrinsics of bf16 products. Highway 1.0.3 has no target with these instructions, so loops
// use intrinsics and check the CPU. Included by .cc files, on x86 only.
#pragma once

#include <cstddef>

#include "kernels/cpu/gemm/bf16_loops.h"

// GCC's own header starts vectors from themselves on purpose (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>

/// Attribute of functions that use them: the rest of their file is compiled for the baseline. Such
/// functions run only if cpu_multiplies_bf16().
#define PX_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

namespace parallax {

/// Returns the mask of the low `n` <= 16 lanes of a 512-bit vector of f32.
inline __mmask16 first_lanes(std::size_t n) { return static_cast<__mmask16>((1U << n) - 1U); }

}  // namespace parallax
