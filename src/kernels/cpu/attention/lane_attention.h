// FusedAttention in f32 with queries in the lanes of vectors. The kernel is immutable; tiles run
// concurrently.
#pragma once

#include <memory>

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/cpu/machine.h"

namespace parallax {

/// Creates the kernel. Returns a null pointer for so few queries that lanes would stay empty, for
/// heads too deep or too wide for scratch, and if rows of Q, V and the result or columns of K are
/// not contiguous.
std::unique_ptr<Kernel> make_lane_attention(const AttentionShape& shape, const Machine& machine);

}  // namespace parallax
