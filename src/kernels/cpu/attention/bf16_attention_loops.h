// The inner loops of attention in bf16 with queries in lanes, as lane_attention_loops.h has them:
// every row of a block belongs to a key (or to a column of V) and has an element for each query.
// Thread-safe. REQUIRES: cpu_multiplies_bf16().
#pragma once

#include <cstddef>

#include "kernels/cpu/attention/lane_attention_loops.h"
#include "kernels/cpu/gemm/bf16_loops.h"

namespace parallax {

/// A block in bf16. `stride` is a multiple of kBf16Vector; x has one more row if the number of keys
/// is odd. Rows of K and Q have a pair for each two elements of depth, rows of V a pair of keys for
/// each column.
using Bf16LaneBlock = LaneBlockOf<Bf16Pair>;
/// Brings sums and y up to date, y = shrink * y + V^T weights. The weights are
/// e^(score + mask - largest) with a mask, 2^(score - largest) without, with a relative
/// error of 1e-4, then rounded to bf16.
void bf16_lane_block(const Bf16LaneBlock& block);

}  // namespace parallax
