// The inner loops of attention in bf16 with queries in lanes, as lane_attention_loops.h has them:
// every row of a block belongs to a key (or to a column of V) and has an element for each query.
// Thread-safe. REQUIRES: cpu_multiplies_bf16().
#pragma once

#include <cstddef>

#include "kernels/cpu/attention/lane_attention_loops.h"
#include "kernels/cpu/gemm/bf16_loops.h"

namespace parallax {

/// `stride` is a multiple of kBf16Vector, and x has a row more where the number of keys is odd.
using Bf16LaneBlock = LaneBlockOf<Bf16Pair>;
/// Brings sums and y up to date, y = shrink * y + V^T weights. The weights are
/// e^(score + mask - largest) with a mask, 2^(score - largest) without, off by 1e-4 of themselves
/// and then rounded.
void bf16_lane_block(const Bf16LaneBlock& block);

}  // namespace parallax
