#include "kernels/simd/lane_rows.h"

#include <algorithm>

#include "kernels/simd/transpose_loops.h"

namespace parallax {

void place_mask(const AttentionShape& shape, const float* mask, std::int64_t batch,
                TileRange queries, std::int64_t key, float* to, LaneRows& rows) {
  const float* const from = shape.mask_at(mask, batch, queries.begin) + key;
  if (shape.mask_stride == 0) {
    rows.key_mask = from;
    return;
  }
  const std::size_t count = to_size(queries.end - queries.begin);
  if (count < rows.stride) std::fill_n(to, rows.keys * rows.stride, 0.0F);
  transpose_block({reinterpret_cast<const std::byte*>(from), reinterpret_cast<std::byte*>(to),
                   to_size(shape.mask_stride), rows.stride, rows.keys, count, sizeof(float)});
  rows.query_mask = to;
}

void store_results(const AttentionShape& shape, std::int64_t batch, TileRange queries,
                   const LaneRows& rows, float* out) {
  lane_divide(rows.y, rows.width, rows.stride, rows.sums.sum);
  float* const to = out + shape.at(shape.y, batch) + queries.begin * shape.y.row_stride;
  transpose_block({reinterpret_cast<const std::byte*>(rows.y), reinterpret_cast<std::byte*>(to),
                   rows.stride, to_size(shape.y.row_stride), to_size(queries.end - queries.begin),
                   rows.width, sizeof(float)});
}

}  // namespace parallax
