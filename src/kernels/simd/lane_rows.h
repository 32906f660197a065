// Between tensors, whose rows are queries, and blocks with queries in lanes, whose columns are.
// Pure functions, thread-safe.
#pragma once

#include "kernels/simd/attention_shape.h"
#include "kernels/simd/lane_attention_loops.h"
#include "kernels/simd/tiles.h"

namespace parallax {

/// Gives `rows` the mask of its keys, the first of which is `key`: `mask` as AttentionShape has it;
/// `to` [keys, stride] holds it where queries differ.
void place_mask(const AttentionShape& shape, const float* mask, std::int64_t batch,
                TileRange queries, std::int64_t key, float* to, LaneRows& rows);

/// The end of a row of blocks: divides y by the sums and writes it to `out`, the whole result.
void store_results(const AttentionShape& shape, std::int64_t batch, TileRange queries,
                   const LaneRows& rows, float* out);

}  // namespace parallax
