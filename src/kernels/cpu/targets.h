// Include before any Highway header: which instruction sets the kernels of this folder are compiled
// for. x86 keeps the plain baseline, SSE4, AVX2 and AVX-512; the rest would cost compile time and
// code size only. SVE is left out because its vectors cannot be kept in arrays.
#pragma once

#define PX_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
// With a sanitizer not SSE4 either: one of four instruction sets less to compile for.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HWY_DISABLED_TARGETS (PX_DISABLED_TARGETS | HWY_SSE4)
#else
#define HWY_DISABLED_TARGETS PX_DISABLED_TARGETS
#endif
