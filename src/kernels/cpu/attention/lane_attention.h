// FusedAttention in f32 with queries in the lanes of vectors. The kernel is immutable; tiles run
// concurrently. Scratch of a tile holds a block of Q, of scores and of the result, all transposed;
// K and V are read in place. Blocks have about 64 queries, and as many keys as the first-level
// cache holds scores for (Machine::near_scores()).
#pragma once

#include <memory>

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/cpu/machine.h"

namespace parallax {

/// Creates the kernel. Returns a null pointer for so few queries that lanes would stay empty, for
/// heads too deep or too wide for scratch, and if rows of Q, V and the result or columns of K are
/// not contiguous. These limits are 13 queries, and 1280 elements of depth and of width.
std::unique_ptr<Kernel> make_lane_attention(const AttentionShape& shape, const Machine& machine);

}  // namespace parallax
