// How a convolution is cut into tiles: pure arithmetic on shapes, no oneDNN.
//
// A tile is a run of whole output rows of one image (output columns for a 1-D convolution), which
// in NHWC reads and writes contiguous memory. Spatial arrays are {H, W}; a 1-D convolution has H
// = 1. Thread-safety: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "kernels/kernel.h"

namespace parallax {

struct ConvolutionShape {
  std::int64_t batch = 0, groups = 1, in_channels = 0, out_channels = 0;
  std::array<std::int64_t, 2> in{}, out{}, kernel{}, stride{}, dilation{}, pad_begin{};
  int tile_axis = 0;  ///< the spatial axis that tiles cut: 0, or 1 for a 1-D convolution
  bool nhwc = false;  ///< layout of X and Y

  /// Rows along `axis` that one kernel covers.
  std::int64_t extent(int axis) const;
  /// Padding after the last row along `axis` that the outputs [.., out_end) read.
  std::int64_t pad_end(int axis, std::int64_t out_end) const;
  /// Multiply-accumulates of one image.
  double macs() const;
};
/// The shape of a Conv node with f32 operands of rank 3 or 4 and known weights; nothing for others
/// (empty ones, and sizes or padding beyond what oneDNN is trusted with).
std::optional<ConvolutionShape> convolution_shape(const KernelRequest& request);

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
