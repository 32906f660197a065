// Barriers for the optimiser: keep a value in its register in loops whose registers are all in use.
// They emit no instruction, and are empty for compilers that do not need them. Included once per
// target (the guard toggles).
#include <hwy/highway.h>

#if defined(PX_KERNELS_CPU_KEEP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PX_KERNELS_CPU_KEEP_INL_H_
#undef PX_KERNELS_CPU_KEEP_INL_H_
#else
#define PX_KERNELS_CPU_KEEP_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {

/// Keeps a Highway vector in its register: GCC on x86 would otherwise load it from memory for each
/// use. The value does not change. Call it after the vector was loaded, before the loop that uses
/// it. Used where a sum or an operand must stay in one of the 16 or 32 vector registers.
template <class V>
HWY_INLINE void keep(V& v) {
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86
  __asm__("" : "+v"(v.raw));
#else
  (void)v;
#endif
}

/// Keeps a pointer that a loop advances in one register: GCC would otherwise keep one pointer for
/// each step of an unrolled loop, most of them in memory. Call it in each iteration.
HWY_INLINE void keep_pointer(const float*& p) {
#if HWY_COMPILER_GCC_ACTUAL
  __asm__("" : "+r"(p));
#else
  (void)p;
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#endif  // PX_KERNELS_CPU_KEEP_INL_H_
