// Tensors cut into parts and put together along an axis, of numbers or of strings.
#pragma once

#include <optional>
#include <span>

#include "kernels/objects/object_kernel.h"

namespace parallax {

/// The attribute `axis` of a tensor of `rank`, counted from the front.
std::optional<int> axis_of(const ObjectCall& call, int rank);
/// Positions [begin, begin + length) of an axis, which goes where `drop` is set. REQUIRES: they
/// exist; length is 1 for `drop`.
Result<Object> part_of(const ObjectCall& call, const Object& whole, int axis, std::int64_t begin,
                       std::int64_t length, bool drop);
/// REQUIRES: at least one; dimensions are equal but for `axis`, with `add` all of them.
Result<Object> concatenated(const ObjectCall& call, std::span<const Object> parts, int axis,
                            bool add);

}  // namespace parallax
