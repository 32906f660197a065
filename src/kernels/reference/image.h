// Images and the windows that slide over them, for convolutions and pools: layout as strides, so
// that one loop serves NCHW and NHWC with any number of spatial axes. Pure.
#pragma once

#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"

namespace parallax {

/// A tensor as batch x channels x spatial axes, with the stride of each.
struct ImageStrides {
  std::int64_t batch = 0, channels = 0;
  Dims spatial;
  std::int64_t batch_stride = 0, channel_stride = 0;
  Strides spatial_strides{};
};
/// REQUIRES: rank >= 3.
ImageStrides image_strides(const Dims& dims, const Node& node);

/// One spatial axis of a sliding window.
struct WindowAxis {
  std::int64_t in = 0, out = 0, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;

  /// The taps that fall on [low, high) for output position `o`: [begin, end).
  TileRange taps(std::int64_t o, std::int64_t low, std::int64_t high) const;
  /// The output positions at which tap `k` falls on the image: [begin, end).
  TileRange positions(std::int64_t k) const;
};
/// Attributes strides, dilations, pads and auto_pad made explicit, an axis each.
using WindowAxes = std::array<WindowAxis, Dims::kMaxRank>;
WindowAxes window_axes(const Node& node, const Dims& in, const Dims& out,
                       std::span<const std::int64_t> kernel);
/// Those of a ConvTranspose, as of the convolution that it transposes: from the result's axes `y`
/// to the image's `x`.
WindowAxes transposed_window_axes(const Node& node, const Dims& x, const Dims& y,
                                  std::span<const std::int64_t> kernel);

/// Index of `position` along each axis of `dims` but the last.
Dims outer_index(const Dims& dims, std::int64_t position);

}  // namespace parallax
