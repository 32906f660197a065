// Whether this CPU computes products of bf16.
#pragma once

#include <string_view>

namespace parallax {

/// True where the CPU and the operating system have what kernels with KernelRequest::bf16 need.
bool cpu_multiplies_bf16();
/// What that is, for messages.
inline constexpr std::string_view kBf16InstructionSet = "AVX-512-BF16";

}  // namespace parallax
