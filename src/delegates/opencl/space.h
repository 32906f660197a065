// Walks of tensors by strides, as kernels take them. Pure.
#pragma once

#include <optional>
#include <vector>

#include "delegates/opencl/arguments.h"
#include "kernels/reference/index_space.h"

namespace parallax::opencl {

/// Most elements of a tensor that kernels count in 32 bits, with room for the last work-group.
inline constexpr std::int64_t kMaxElements = (std::int64_t{1} << 31) - (std::int64_t{1} << 16);
inline constexpr std::int64_t kGroupItems = 256;

/// How many groups of `size` cover `count`.
inline std::size_t groups_of(std::int64_t count, std::int64_t size = kGroupItems) {
  return static_cast<std::size_t>((count + size - 1) / size);
}

/// An index space and the strides of operands in it.
struct Walk {
  SpaceArgument space;
  std::vector<StridesArgument> operands;
  std::size_t groups = 0;  ///< 0: no elements
};
/// Axes of size 1 vanish, neighbouring axes that are one for all operands are merged. REQUIRES: at
/// most kMaxElements in the space and in each operand.
Walk walk_of(const Dims& dims, const std::vector<Strides>& operands);
/// The same with every axis kept. REQUIRES: rank >= 1.
Walk plain_walk_of(const Dims& dims, const std::vector<Strides>& operands);

}  // namespace parallax::opencl
