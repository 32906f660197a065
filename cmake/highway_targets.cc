// What the tool needs of Highway's library: which instruction sets this CPU and its system offer.
// Debian has no archive of it, and the shared library measures a timer for 3 ms when it is loaded.
// Not part of our library, whose users may link Highway's. Thread-safe.
#include <hwy/targets.h>
#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace hwy {
namespace {

#if HWY_ARCH_X86
/// Both go with AVX2; clang's __builtin_cpu_supports() does not know them.
bool has_f16c_and_lzcnt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kF16c = 1U << 29U, kLzcnt = 1U << 5U;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kF16c) == 0) return false;
  return __get_cpuid(0x80000001U, &a, &b, &c, &d) != 0 && (c & kLzcnt) != 0;
}
#endif

std::int64_t detect() {
  std::int64_t targets = HWY_STATIC_TARGET;
#if HWY_ARCH_X86
  // True only where the system saves the registers too.
  __builtin_cpu_init();
  if (__builtin_cpu_supports("ssse3")) targets |= HWY_SSSE3;
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
      __builtin_cpu_supports("aes"))
    targets |= HWY_SSE4;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && has_f16c_and_lzcnt())
    targets |= HWY_AVX2;
  if ((targets & HWY_AVX2) != 0 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd"))
    targets |= HWY_AVX3;
#endif
  return targets;
}

}  // namespace

std::int64_t SupportedTargets() {
  static const std::int64_t targets = detect();
  return targets;
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
