// Include before any Highway header: which instruction sets the kernels of this folder are compiled
// for. x86 keeps the plain baseline, SSE4, AVX2 and AVX-512; the rest would cost compile time and
// code size only. SVE is left out because its vectors cannot be kept in arrays.
#pragma once

#ifdef PX_NO_AVX512  // cmake/NativeKernels.cmake
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
