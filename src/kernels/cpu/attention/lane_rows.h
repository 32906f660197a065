// Copies between tensors, whose rows are queries, and blocks with queries in lanes, whose columns
// are queries. Pure functions, thread-safe.
#pragma once

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/cpu/attention/lane_attention_loops.h"
#include "kernels/cpu/tiles.h"

namespace parallax {

/// A block of queries of one batch, and the first of its keys; LaneRows::keys is their number.
struct QueryBlock {
  std::int64_t batch = 0;
  TileRange queries;
  std::int64_t key = 0;
};
/// Sets the mask of `rows` for its keys: `mask` is the whole input. If queries have different rows
/// of it, they are transposed into `to` [keys, stride], which must outlive `rows`.
void place_mask(const AttentionShape& shape, const float* mask, const QueryBlock& at, float* to,
                LaneRows& rows);
/// Does the same for the choice, which is always copied to `to`, with 1 for scores that are filled.
void place_choice(const AttentionShape& shape, const std::uint8_t* choice, const QueryBlock& at,
                  std::uint8_t* to, LaneRows& rows);

/// Finishes queries after their last block: divides y by the sums and writes it, transposed, to
/// `out`, which is the whole result.
void store_results(const AttentionShape& shape, std::int64_t batch, TileRange queries,
                   const LaneRows& rows, float* out);

}  // namespace parallax
