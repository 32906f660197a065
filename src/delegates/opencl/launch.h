// Kernels, and what a node needs of them: launches with arguments in which tensors are places that
// a binding gives memory. Thread-safety: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "delegates/opencl/arguments.h"

namespace parallax::opencl {

/// A kernel that a program has.
struct KernelSpec {
  std::string name;
  std::string source;  ///< of its program
  std::array<std::size_t, 3> group{1, 1, 1};
  std::string signature;  ///< a letter of kArgumentLetters for each argument
};

/// Those of kernels.def.
enum class KernelId : std::uint8_t {
#define PX_CL_KERNEL(text, name, x, y, signature) name,
#include "delegates/opencl/kernels.def"
#undef PX_CL_KERNEL
};
/// Lives as long as the process.
const KernelSpec& spec_of(KernelId id);

/// What stands before the source of a program whose tensors have 16 bits for a float.
inline constexpr std::string_view kHalfPrefix = "#define PX_HALF\n";
/// The start of the source of a generated program: what kernels/common.cl and
/// kernels/elementwise.cl have.
std::string_view elementwise_prelude();

struct Launch {
  const KernelSpec* kernel = nullptr;  ///< outlives the launch
  std::array<std::size_t, 3> groups{1, 1, 1};
  std::vector<Argument> arguments;
};

/// Whether the arguments are those of the kernel's signature.
bool fits(const Launch& launch);
/// A launch whose arguments are all zero, which does nothing.
Launch idle_launch(const KernelSpec& kernel);

}  // namespace parallax::opencl
