// How a convolution is cut into tiles: pure arithmetic on shapes, no oneDNN.
//
// A tile is a run of whole output rows of one image (output columns for a 1-D convolution), which
// in NHWC reads and writes contiguous memory. Thread-safety: plain values.
#pragma once

#include <cstdint>

#include "kernels/convolution_shape.h"

namespace parallax {

/// Rows of one tile along the tile axis. Rows of padding are not among the input rows.
struct ConvolutionRows {
  std::int64_t out_begin = 0, out_rows = 0, in_begin = 0, in_rows = 0;
  std::int64_t pad_begin = 0, pad_end = 0;

  /// True where the same primitive computes both.
  bool same_work(const ConvolutionRows& other) const;
};
/// Output rows of a full tile.
std::int64_t rows_per_tile(const ConvolutionShape& shape);
/// The rows of tile `index` when tiles have `rows` output rows.
ConvolutionRows tile_rows(const ConvolutionShape& shape, std::int64_t rows, std::int64_t index);

}  // namespace parallax
