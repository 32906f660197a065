// Loads and additions of a product that stay in the order of the code, and sums that stay in their
// registers. If steps are unrolled, GCC 12 otherwise moves loads ahead and stores sums to memory,
// since AVX2 has 16 registers. Included once per target (the guard toggles).
#include <hwy/highway.h>

#include "kernels/cpu/math_inl.h"

#if defined(PX_KERNELS_CPU_GEMM_ORDERED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PX_KERNELS_CPU_GEMM_ORDERED_INL_H_
#undef PX_KERNELS_CPU_GEMM_ORDERED_INL_H_
#else
#define PX_KERNELS_CPU_GEMM_ORDERED_INL_H_
#endif

// Sanitizers do not see the loads, and offsets are constants only if the compiler optimizes.
#undef PX_ORDERED
#if HWY_TARGET == HWY_AVX2 && defined(__OPTIMIZE__) && !HWY_IS_ASAN && !HWY_IS_MSAN && !HWY_IS_TSAN
#define PX_ORDERED 1
#else
#define PX_ORDERED 0
#endif

namespace parallax {
namespace HWY_NAMESPACE {
constexpr bool kOrdered = PX_ORDERED == 1;
/// Steps in depth that are unrolled.
constexpr std::size_t kOrderedSteps = 4;
}  // namespace HWY_NAMESPACE
}  // namespace parallax

#if PX_ORDERED
HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {
namespace {

/// More elements than any operand has: the loads below depend on all that is stored there.
using Floats = float[1U << 28U];

/// Returns what `instruction` loads from from[kRow * stride + kOffset] on; kRow < 3.
#define PX_LOAD_AT(instruction)                                                                 \
  __m256 v;                                                                                     \
  const auto& all = *reinterpret_cast<const Floats*>(from);                                     \
  if constexpr (kRow == 0) {                                                                    \
    asm volatile(instruction " %c2(%1), %0" : "=x"(v) : "r"(from), "i"(4 * kOffset), "m"(all)); \
  } else {                                                                                      \
    asm volatile(instruction " %c3(%1,%2,%c4), %0"                                              \
                 : "=x"(v)                                                                      \
                 : "r"(from), "r"(stride), "i"(4 * kOffset), "i"(4 * kRow), "m"(all));          \
  }                                                                                             \
  return FloatVec { v }

/// Returns a vector of copies of an element.
template <std::size_t kRow, std::size_t kOffset>
HWY_INLINE FloatVec broadcast_at(const float* from, std::size_t stride) {
  PX_LOAD_AT("vbroadcastss");
}
/// Returns a vector of adjacent elements.
template <std::size_t kRow, std::size_t kOffset>
HWY_INLINE FloatVec load_at(const float* from, std::size_t stride) {
  PX_LOAD_AT("vmovups");
}
#undef PX_LOAD_AT

/// Adds x y to `sum` in its register.
HWY_INLINE void add_product(FloatVec x, FloatVec y, FloatVec& sum) {
  __m256 s = sum.raw;
  asm volatile("vfmadd231ps %2, %1, %0" : "+x"(s) : "x"(x.raw), "x"(y.raw));
  sum.raw = s;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();
#endif

#endif  // PX_KERNELS_CPU_GEMM_ORDERED_INL_H_
