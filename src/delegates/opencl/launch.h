// Kernels and launches of them. Tensors among the arguments are places, to which a binding assigns
// memory. Thread-safety: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "delegates/opencl/arguments.h"

namespace parallax::opencl {

/// A kernel of a program. A region creates one kernel object per name.
struct KernelSpec {
  std::string name;
  std::string source;                         ///< source of its program
  std::array<std::size_t, 3> group{1, 1, 1};  ///< work-items of a work-group, by axis
  std::string signature;                      ///< a letter of kArgumentLetters for each argument
};

/// The kernels of operators.def.
enum class KernelId : std::uint8_t {
#define PX_CL_KERNEL(text, name, x, y, signature) name,
#include "delegates/opencl/operators.def"
};
/// Returns the kernel with default sizes. It lives as long as the process. The source of its
/// program begins with kernels/common.cl.
const KernelSpec& spec_of(KernelId id);

/// Text before the source of a program whose tensors store floats in 16 bits. Region adds it; the
/// sources of a KernelSpec are without it.
inline constexpr std::string_view kHalfPrefix = "#define PX_HALF\n";
/// Returns the start of every generated program: the contents of kernels/common.cl and
/// kernels/elementwise.cl. Static lifetime.
std::string_view elementwise_prelude();

/// A kernel with its arguments and its grid. Items along an axis: groups times KernelSpec::group. A
/// launch that is enqueued has at least one group along each axis.
struct Launch {
  const KernelSpec* kernel = nullptr;          ///< outlives the launch
  std::array<std::size_t, 3> groups{1, 1, 1};  ///< number of work-groups, by axis
  std::vector<Argument> arguments;
};

/// Returns whether the arguments match the kernel's signature. Compares types only, not sizes or
/// places.
bool fits(const Launch& launch);
/// Returns a launch that does nothing: its arguments are all zero. It has one work-group. Tensors
/// have no place: the caller passes a small buffer. Region enqueues it to make the driver finish
/// compiling.
Launch idle_launch(const KernelSpec& kernel);

}  // namespace parallax::opencl
