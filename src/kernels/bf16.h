// Tells whether this CPU has instructions that multiply bf16. Thread-safe.
#pragma once

#include <string_view>

namespace parallax {

/// Returns whether the CPU and the operating system support what kernels need for
/// KernelRequest::precision kBf16. The answer does not change while the process runs.
bool cpu_multiplies_bf16();
/// Name of that instruction set, for messages to users.
inline constexpr std::string_view kBf16InstructionSet = "AVX-512-BF16";

}  // namespace parallax
