// FusedAttention in f32 with queries in the lanes of vectors.
#pragma once

#include <memory>

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/cpu/machine.h"

namespace parallax {

/// A null pointer for so few queries that lanes would stay empty, for heads too deep or too wide
/// for scratch, and where rows of Q, V and the result or columns of K are not contiguous.
std::unique_ptr<Kernel> make_lane_attention(const AttentionShape& shape, const Machine& machine);

}  // namespace parallax
