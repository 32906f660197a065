// Copies between tensors, whose rows are queries, and blocks with queries in lanes, whose columns
// are queries. Pure functions, thread-safe. Called by the kernels in lane_attention.cc and
// bf16_attention.cc for each block.
#pragma once

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/cpu/attention/lane_attention_loops.h"
#include "kernels/cpu/tiles.h"

namespace parallax {

/// A block of queries of one batch, and the first of its keys; LaneRows::keys is their number.
/// `batch` counts matrices of the result in row-major order of its leading axes.
struct QueryBlock {
  std::int64_t batch = 0;
  TileRange queries;
  std::int64_t key = 0;
};
/// Sets the mask of `rows` for its keys: `mask` is the whole input. If queries have different rows
/// of it, they are transposed into `to` [keys, stride], which must outlive `rows`. Columns after
/// the last query become zeros. REQUIRES: shape.mask.given; rows.keys and rows.stride are set.
void place_mask(const AttentionShape& shape, const float* mask, const QueryBlock& at, float* to,
                LaneRows& rows);
/// Does the same for the choice, which is always copied to `to`, with 1 for scores that are filled.
/// Sets `filled`, `fill` and `fill_last`; `to` has rows.keys * rows.stride bytes.
void place_choice(const AttentionShape& shape, const std::uint8_t* choice, const QueryBlock& at,
                  std::uint8_t* to, LaneRows& rows);

/// Finishes queries after their last block: divides y by the sums and writes it, transposed, to
/// `out`, which is the whole result. Writes the rows of `queries` alone, so tiles may run
/// concurrently. y is changed.
void store_results(const AttentionShape& shape, std::int64_t batch, TileRange queries,
                   const LaneRows& rows, float* out);

}  // namespace parallax
