#include "kernels/cpu/attention/lane_rows.h"

#include <algorithm>

#include "kernels/cpu/movement/transpose_loops.h"

namespace parallax {

namespace {

/// Transposes each query's row of `from` to a column of `to` [keys, stride]; zeros in the columns
/// after them.
template <class T>
void place_columns(const T* from, std::int64_t from_stride, std::size_t count, T* to,
                   const LaneRows& rows) {
  if (count < rows.stride) std::fill_n(to, rows.keys * rows.stride, T{0});
  transpose_block({reinterpret_cast<const std::byte*>(from), reinterpret_cast<std::byte*>(to),
                   to_size(from_stride), rows.stride, rows.keys, count, sizeof(T)});
}

}  // namespace

void place_mask(const AttentionShape& shape, const float* mask, const QueryBlock& at, float* to,
                LaneRows& rows) {
  const float* const from = mask + shape.at(shape.mask, at.batch, at.queries.begin) + at.key;
  if (shape.mask.stride == 0) {
    rows.key_mask = from;
    return;
  }
  place_columns(from, shape.mask.stride, to_size(at.queries.end - at.queries.begin), to, rows);
  rows.query_mask = to;
}

void place_choice(const AttentionShape& shape, const std::uint8_t* choice, const QueryBlock& at,
                  std::uint8_t* to, LaneRows& rows) {
  const std::uint8_t* const from =
      choice + shape.at(shape.choice, at.batch, at.queries.begin) + at.key;
  if (shape.choice.stride == 0) {
    for (std::size_t key = 0; key < rows.keys; ++key)
      std::fill_n(to + key * rows.stride, rows.stride, from[key]);
  } else {
    place_columns(from, shape.choice.stride, to_size(at.queries.end - at.queries.begin), to, rows);
  }
  const bool where = shape.fill.where;
  for (std::size_t i = 0; i < rows.keys * rows.stride; ++i) to[i] = (to[i] != 0) == where ? 1 : 0;
  rows.filled = to;
  rows.fill = shape.fill.value;
  rows.fill_last = shape.fill.last;
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
