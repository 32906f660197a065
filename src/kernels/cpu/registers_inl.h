// How many sums of a product the registers hold. Included once per target (the guard toggles).
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

/// Vectors of a panel.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr std::size_t kVectors = 4;
#else
constexpr std::size_t kVectors = 2;
#endif

/// Rows of a group: sums for 24 of 32 registers, or 12 of 16. With one vector 12 suffice to hide
/// how long an addition takes.
constexpr std::size_t rows_for(std::size_t vectors) {
  return vectors == 1 ? 12 : (kVectors == 4 ? 24 : 12) / vectors;
}

}  // namespace HWY_NAMESPACE
}  // namespace parallax
HWY_AFTER_NAMESPACE();

#endif  // PX_KERNELS_CPU_REGISTERS_INL_H_
