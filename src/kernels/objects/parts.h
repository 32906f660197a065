// Slices and concatenations of tensors of numbers or strings along one axis. Results own their
// memory, which is charged to the run's budget. Thread-safe: functions of their arguments.
#pragma once

#include <optional>
#include <span>

#include "kernels/objects/object_kernel.h"

namespace parallax {

/// Returns the attribute `axis` (default 0) for a tensor of `rank`, made non-negative; nullopt if
/// it is out of range.
std::optional<int> axis_of(const ObjectCall& call, int rank);
/// Copies positions [begin, begin + length) of an axis; `drop` removes the axis from the result.
/// REQUIRES: they exist; length is 1 for `drop`. Errors: kOutOfMemory, kBudgetExceeded,
/// kUnsupported for elements of less than a byte.
Result<Object> part_of(const ObjectCall& call, const Object& whole, int axis, std::int64_t begin,
                       std::int64_t length, bool drop);
/// Concatenates parts along `axis`, or with `add` stacks them along a new axis at that position.
/// REQUIRES: at least one part; equal types; dimensions are equal except along `axis`, with `add`
/// along all axes. Errors: as part_of().
Result<Object> concatenated(const ObjectCall& call, std::span<const Object> parts, int axis,
                            bool add);

}  // namespace parallax
