// Sliding windows over spatial axes, as convolution and pooling have them: attributes checked and
// made explicit, sizes of the result. Works on shapes of layout NCHW (default) or NHWC with any
// number of spatial axes. Pure functions; only ops/ includes this. Errors: kInvalidModel unless
// another code is named.
#pragma once

#include <string>
#include <vector>

#include "ops/common.h"
#include "ops/params/window.h"

namespace parallax {

/// A shape taken apart by the node's `layout`.
struct ImageShape {
  Expr batch;
  Expr channels;
  std::vector<Expr> spatial;
};
/// Returns the shape of input 0. Refuses ranks below 3 and unknown layouts.
Result<ImageShape> image_shape(const InferContext& context);
/// Returns the shape of an image in the node's layout: the reverse of image_shape().
Shape join_shape(const InferContext& context, const ImageShape& image);

/// Gives a list that is empty `count` elements `fallback`. Refuses another number of elements, and
/// those outside [least, 2^31); the message calls the list `name`.
Status complete_list(const InferContext& context, std::string_view name, std::size_t count,
                     std::int64_t least, std::int64_t fallback, std::vector<std::int64_t>& list);
/// Gives strides, dilations and pads an element for each of `axes` spatial axes (1, 1 and 0), and
/// checks them. Leaves kernel_shape as it is. Refuses pads next to an auto_pad.
Status complete_windows(const InferContext& context, std::size_t axes, WindowParams& windows);
/// Returns the number of window positions along spatial axis `axis` of size `dim`, a number or an
/// expression; ceil(dim / stride) with SAME_UPPER and SAME_LOWER. With `ceil_mode` a partial last
/// window counts if it starts inside the image or its leading padding. There are 0 if the image
/// lacks no more than a stride (two with `ceil_mode`), as the standard's formula has it; beyond
/// that it is an error. REQUIRES: `windows` is complete.
Result<Expr> window_count(const InferContext& context, const WindowParams& windows,
                          std::size_t axis, const Expr& dim, std::int64_t kernel, bool ceil_mode);
/// Returns the spatial sizes of the weight, input 1, which `stated` must repeat if it is not empty.
/// REQUIRES: the weight has rank axes + 2. Errors: kUnsupported if neither tells a size.
Result<std::vector<std::int64_t>> weight_kernel(const InferContext& context,
                                                std::span<const std::int64_t> stated,
                                                std::size_t axes);
/// Returns the elements from the first to the last that a window reads, (kernel - 1) * dilation +
/// 1. Refuses kernels outside [1, 2^31) and extents that do not fit 63 bits.
Result<std::int64_t> window_extent(const InferContext& context, std::int64_t kernel,
                                   std::int64_t dilation);

}  // namespace parallax
