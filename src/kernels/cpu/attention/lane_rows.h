// Between tensors, whose rows are queries, and blocks with queries in lanes, whose columns are.
// Pure functions, thread-safe.
#pragma once

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/cpu/attention/lane_attention_loops.h"
#include "kernels/cpu/tiles.h"

namespace parallax {

/// Some queries and, from the first key on, some keys.
struct QueryBlock {
  std::int64_t batch = 0;
  TileRange queries;
  std::int64_t key = 0;
};
/// Gives `rows` the mask of its keys: `mask` is the whole input; `to` [keys, stride] holds what is
/// needed of it where queries differ.
void place_mask(const AttentionShape& shape, const float* mask, const QueryBlock& at, float* to,
                LaneRows& rows);
/// The same of the choice; `to` holds it always, with ones where scores are filled.
void place_choice(const AttentionShape& shape, const std::uint8_t* choice, const QueryBlock& at,
                  std::uint8_t* to, LaneRows& rows);

/// The end of a row of blocks: divides y by the sums and writes it to `out`, the whole result.
void store_results(const AttentionShape& shape, std::int64_t batch, TileRange queries,
                   const LaneRows& rows, float* out);

}  // namespace parallax
