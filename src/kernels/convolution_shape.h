// Sizes and window parameters of a Conv node, for the convolution kernels of every library.
// Spatial arrays are {H, W}; a 1-D convolution has H = 1. Thread-safety: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "kernels/kernel.h"

namespace parallax {

struct ConvolutionAxis {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0;
};

struct ConvolutionShape {
  std::int64_t batch = 0, groups = 1, in_channels = 0, out_channels = 0;
  std::array<std::int64_t, 2> in{}, out{}, kernel{}, stride{}, dilation{}, pad_begin{};
  ConvolutionAxis planes;  ///< the axis before H that a 3-D convolution has
  bool nhwc = false;       ///< layout of X and Y

  /// Rows along `axis` that one kernel covers.
  std::int64_t extent(int axis) const;
  /// Padding after the last row along `axis` that the outputs [.., out_end) read.
  std::int64_t pad_end(int axis, std::int64_t out_end) const;
  /// Taps along `axis` that output `at` finds inside the image.
  TileRange taps_inside(int axis, std::int64_t at) const;
  /// Rows of the image that `rows` of the outputs read.
  TileRange rows_read(TileRange rows) const;
};
/// The shape of a Conv node with f32 operands, or a ConvInteger, of rank 3 or 4 and known weights;
/// nothing for others (empty ones, outputs of padding alone, and images or results of more than
/// 2^31 elements).
std::optional<ConvolutionShape> convolution_shape(const KernelRequest& request);
/// The same of rank 3, 4 or 5.
std::optional<ConvolutionShape> volume_convolution_shape(const KernelRequest& request);

}  // namespace parallax
