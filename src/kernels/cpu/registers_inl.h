// The number of sums of a product that the registers of a target hold. AVX-512 and NEON have 32
// vector registers, other targets 16. Included once per target (the guard toggles).
#include <hwy/highway.h>

#if defined(PX_KERNELS_CPU_REGISTERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PX_KERNELS_CPU_REGISTERS_INL_H_
#undef PX_KERNELS_CPU_REGISTERS_INL_H_
#else
#define PX_KERNELS_CPU_REGISTERS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace parallax {
namespace HWY_NAMESPACE {

/// Most vectors of columns in a panel. Each step of depth loads this many vectors and uses them for
/// all rows of a group.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr std::size_t kVectors = 4;
#else
constexpr std::size_t kVectors = 2;
#endif

/// Returns the most rows of a group for a number of vectors, 1 to kVectors: sums fill 24 of 32
/// registers, or 12 of 16; the others hold the vectors and a broadcast. With one vector 12 rows
/// suffice to hide the latency of an addition. Loops are instantiated for each number of rows up to
/// it.
constexpr std::size_t rows_for(std::size_t vectors) {
  return vectors == 1 ? 12 : (kVectors == 4 ? 24 : 12) / vectors;
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#endif  // PX_KERNELS_CPU_REGISTERS_INL_H_
