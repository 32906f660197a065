// Strided iteration over tensors, in the form that kernels use. Thread-safety: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "delegates/opencl/arguments.h"
#include "kernels/reference/index_space.h"

namespace parallax::opencl {

/// Maximum number of elements that kernels count in 32 bits, with room for the last work-group.
inline constexpr std::int64_t kMaxElements = (std::int64_t{1} << 31) - (std::int64_t{1} << 16);
/// Work-items of a work-group of kernels that walk over elements.
inline constexpr std::int64_t kGroupItems = 256;

/// Returns the number of groups of `size` that cover `count` items. REQUIRES: count >= 0, size > 0.
inline std::size_t groups_of(std::int64_t count, std::int64_t size = kGroupItems) {
  return static_cast<std::size_t>((count + size - 1) / size);
}

/// An index space and the strides of operands in it. Operands are in the order of the arguments of
/// walk_of(). Axes are stored fastest first, the reverse of tensors' dims.
struct Walk {
  SpaceArgument space;
  std::vector<StridesArgument> operands;
  /// 0: no elements. Rows of 128 elements or more have groups of their own; shorter rows share
  /// groups.
  std::size_t groups = 0;
};
/// Returns the walk over `dims`; drops axes of size 1 and merges neighbouring axes that are
/// contiguous for all operands. REQUIRES: at most kMaxElements in the space and in each operand.
/// `dims` has the last axis fastest, as tensors have; strides are in elements. A space of one
/// element has one axis.
Walk walk_of(const Dims& dims, const std::vector<Strides>& operands);
/// Returns the walk with every axis kept. REQUIRES: rank >= 1.
Walk plain_walk_of(const Dims& dims, const std::vector<Strides>& operands);

}  // namespace parallax::opencl
