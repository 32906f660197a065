// PX_UNROLL before a loop of few known steps over registers: an array of them that is not unrolled
// lives in memory.
#pragma once

#if defined(__clang__)
#define PX_UNROLL _Pragma("clang loop unroll(full)")
#else
#define PX_UNROLL _Pragma("GCC unroll 32")
#endif
