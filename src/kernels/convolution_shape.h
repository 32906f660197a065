// Sizes and window parameters of a Conv node, for the convolution kernels of every library. Spatial
// arrays are {H, W}; a 1-D convolution has H = 1. Thread-safety: plain values. Numbers are checked
// here once, so that inner loops need no checks of bounds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "kernels/kernel.h"

namespace parallax {

/// Sizes along one spatial axis, in elements. `pad_begin` counts zeros before the first element;
/// those after the last follow from the sizes. Output o and tap k meet at input o * stride + k *
/// dilation - pad_begin.
struct ConvolutionAxis {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0;
};

/// X is [batch, in_channels, in], W is [out_channels, in_channels / groups, kernel], Y is [batch,
/// out_channels, out]; with `nhwc`, X and Y have their channels last.
struct ConvolutionShape {
  std::int64_t batch = 0, groups = 1, in_channels = 0, out_channels = 0;
  /// Entry 0 is the axis H, entry 1 the axis W.
  std::array<std::int64_t, 2> in{}, out{}, kernel{}, stride{}, dilation{}, pad_begin{};
  ConvolutionAxis planes;  ///< axis before H of a 3-D convolution; sizes 1 for others
  bool nhwc = false;       ///< layout of X and Y

  /// Input positions along `axis` from the first to the last tap of a window, dilation included.
  std::int64_t extent(int axis) const;
  /// Padding after the last row along `axis` that the outputs [.., out_end) read.
  std::int64_t pad_end(int axis, std::int64_t out_end) const;
  /// Taps [begin, end) along `axis` that are inside the image for output position `at`. Empty if
  /// the whole window lies in the padding.
  TileRange taps_inside(int axis, std::int64_t at) const;
  /// Rows of the image, padding excluded, that output rows `rows` read. The range may be empty if
  /// all of them read padding only. REQUIRES: not empty.
  TileRange rows_read(TileRange rows) const;
};
/// Returns the shape of a Conv with f32 operands, or of a ConvInteger, if it has rank 3 or 4 and
/// weights known at plan time. Returns nullopt for others, for empty tensors, for padding of at
/// least a whole window, and for images or results of 2^31 elements or more. Thus offsets within a
/// sample cannot overflow. A bias of a Conv must be f32 and known as well. Single sizes, strides
/// and dilations are at most 2^24.
std::optional<ConvolutionShape> convolution_shape(const KernelRequest& request);
/// Variant that accepts rank 5 also, with `planes` as the first spatial axis.
std::optional<ConvolutionShape> volume_convolution_shape(const KernelRequest& request);

}  // namespace parallax
