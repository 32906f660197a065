// What the tool needs of Highway's library: which instruction sets this CPU and its system offer;
// if PARALLAX_TARGETS is set, only those that this variable names, with commas between.
// Debian has no archive of it, and the shared library measures a timer for 3 ms when it is loaded.
// Not part of our library, whose users may link Highway's. Thread-safe.
#include <hwy/targets.h>

#include <cstdlib>
#include <string_view>
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
  // Its other instructions are not asked for: kernels want those for products of bytes alone.
  if ((targets & HWY_AVX3) != 0 && __builtin_cpu_supports("avx512vnni")) targets |= HWY_AVX3_DL;
#endif
  return targets;
}

/// Returns the sets that the variable names; all without it. AVX-512 with VNNI is AVX-512 as well.
std::int64_t wanted() {
  const char* const names = std::getenv("PARALLAX_TARGETS");
  if (names == nullptr) return ~std::int64_t{0};
  std::int64_t targets = 0;
  for (std::string_view rest = names; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(name.size() == rest.size() ? name.size() : name.size() + 1);
    for (std::int64_t target = 1; target > 0 && target <= HWY_SCALAR; target <<= 1)
      if (name == TargetName(target)) targets |= target;
  }
#if HWY_ARCH_X86
  if ((targets & HWY_AVX3_DL) != 0) targets |= HWY_AVX3;
#endif
  return targets;
}

}  // namespace

std::int64_t SupportedTargets() {
  static const std::int64_t targets = (detect() & wanted()) | HWY_STATIC_TARGET;
  return targets;
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
