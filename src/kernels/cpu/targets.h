// Selects the instruction sets that kernels of this folder are compiled for. Include it before any
// Highway header. x86 has SSE2 as its baseline, SSE4, AVX2 and AVX-512; others would only cost
// compile time and code size. SVE is disabled because its vectors cannot be kept in arrays.
// cmake/NativeKernels.cmake defines PX_NO_AVX512 if the machine that it builds for lacks AVX-512.
#pragma once

#ifdef PX_NO_AVX512  // cmake/NativeKernels.cmake
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
