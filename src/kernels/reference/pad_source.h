// Maps positions of a padded axis to elements of the original, for every kernel of Pad. Pure. Both
// libraries make tables of it, one entry for each position of an axis.
#pragma once

#include <cstdint>

#include "ops/params/movement.h"

namespace parallax {

/// Returns the element, in [0, dim), whose value position `at` has, -1 if it is the constant. `at`
/// counts from the first original element and may be negative or beyond the end by more than `dim`.
/// kEdge repeats the outermost element, kWrap continues at the other end, kReflect mirrors without
/// repeating the outermost element; an axis of one element is repeated by all three. REQUIRES: dim
/// > 0, or `mode` is kConstant.
std::int64_t padded_source(PadMode mode, std::int64_t at, std::int64_t dim);

}  // namespace parallax
