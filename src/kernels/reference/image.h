// Images and the windows that slide over them, for convolutions, pools and samplings of the
// reference kernels; some CPU kernels and the OpenCL delegate use them too. Layouts are expressed
// as strides, so that one loop serves NCHW and NHWC with any number of spatial axes. Pure.
#pragma once

#include "kernels/reference/common.h"
#include "kernels/reference/index_space.h"

namespace parallax {

/// A dense tensor as batch x channels x spatial axes, with the stride of each in elements.
/// `spatial_strides` has an entry for each axis of `spatial`, in the same order.
struct ImageStrides {
  /// Sizes of these two axes.
  std::int64_t batch = 0, channels = 0;
  Dims spatial;  ///< sizes of the spatial axes, outermost first
  /// Elements from one image to the next, and from one channel of a pixel or one plane to the next.
  std::int64_t batch_stride = 0, channel_stride = 0;
  Strides spatial_strides{};
};
/// Reads the layout from the attribute `layout`, NCHW by default. Axis 0 is the batch; the channels
/// are axis 1, or the last one for NHWC. REQUIRES: rank >= 3.
ImageStrides image_strides(const Dims& dims, const Node& node);

/// One spatial axis of a sliding window. Output `o` and tap `k` meet at input position o * stride +
/// k * dilation - pad_begin, which may lie outside the image. Stride, dilation and padding
/// count positions along the axis, not elements of memory; `in` and `out` are sizes without
/// padding.
struct WindowAxis {
  /// `kernel` counts taps; `dilation` is the distance of neighbouring taps, `stride` that of
  /// neighbouring outputs.
  std::int64_t in = 0, out = 0, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;

  /// Returns the taps [begin, end) whose input position for output `o` is in [low, high). If there
  /// are none, begin equals end and may exceed `kernel`; else end is `kernel` at most.
  TileRange taps(std::int64_t o, std::int64_t low, std::int64_t high) const;
  /// Returns the output positions [begin, end) for which tap `k` is on the image. It is empty if
  /// the tap always falls into the padding, and else within [0, out].
  TileRange positions(std::int64_t k) const;
};
/// Windows of all spatial axes, outermost first; unused entries are defaults. A two-dimensional
/// convolution uses entries 0 (H) and 1 (W).
using WindowAxes = std::array<WindowAxis, Dims::kMaxRank>;
/// Reads the attributes strides, dilations, pads and auto_pad. `in`, `out` and `kernel` are the
/// sizes of the spatial axes alone, one entry each. Padding of auto_pad is derived from the sizes,
/// so that windows of all `out` positions fit. REQUIRES, as the next function: shape inference
/// accepted the node.
WindowAxes window_axes(const Node& node, const Dims& in, const Dims& out,
                       std::span<const std::int64_t> kernel);
/// Returns the windows of a ConvTranspose, seen as the convolution that it transposes:
/// WindowAxis::in are the spatial sizes `y` of the result, WindowAxis::out the spatial sizes `x` of
/// the node's input. Also reads output_padding and output_shape. If output_shape or a SAME padding
/// is given, the pads of the node do not count: their sum follows from the sizes, and SAME_UPPER
/// puts the odd element at the end, other modes at the beginning.
WindowAxes transposed_window_axes(const Node& node, const Dims& x, const Dims& y,
                                  std::span<const std::int64_t> kernel);

/// Splits `position`, a row-major index over all axes but the last, into an index per axis. The
/// last entry of the result is dims' own. Convolutions use it for rows of results and for taps.
/// REQUIRES: 0 <= position < the product of all dimensions but the last.
Dims outer_index(const Dims& dims, std::int64_t position);

}  // namespace parallax
