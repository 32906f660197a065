// PX_UNROLL unrolls the loop after it completely. Use it for loops with a small constant number of
// steps over arrays of vectors: without unrolling, such an array is stored in memory.
#pragma once

#if defined(__clang__)
#define PX_UNROLL _Pragma("clang loop unroll(full)")
#else
#define PX_UNROLL _Pragma("GCC unroll 32")
#endif
