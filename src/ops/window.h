// Sliding windows over spatial axes, as convolution and pooling have them: attributes checked and
// made explicit, sizes of the result. Works on shapes of layout NCHW (default) or NHWC with any
// number of spatial axes. Only ops/ includes this.
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
/// Refuses ranks below 3 and unknown layouts.
Result<ImageShape> image_shape(const InferContext& context);
Shape join_shape(const InferContext& context, const ImageShape& image);

/// Gives a list that is empty `count` elements `fallback`. Refuses another number of elements, and
/// those outside [least, 2^31); the message calls the list `name`.
Status complete_list(const InferContext& context, std::string_view name, std::size_t count,
                     std::int64_t least, std::int64_t fallback, std::vector<std::int64_t>& list);
/// Gives strides, dilations and pads an element for each of `axes` spatial axes, and checks them.
Status complete_windows(const InferContext& context, std::size_t axes, WindowParams& windows);
/// Number of window positions along spatial axis `axis` of size `dim`. With `ceil_mode` a partial
/// last window counts where it starts inside the image or its leading padding. None fits where the
/// image lacks no more than a stride (two with `ceil_mode`), as the standard's formula has it;
/// beyond that it is an error. `windows` is complete.
Result<Expr> window_count(const InferContext& context, const WindowParams& windows,
                          std::size_t axis, const Expr& dim, std::int64_t kernel, bool ceil_mode);
/// The spatial sizes of the weight, input 1, which `stated` must repeat if it is not empty.
Result<std::vector<std::int64_t>> weight_kernel(const InferContext& context,
                                                std::span<const std::int64_t> stated,
                                                std::size_t axes);
/// (kernel - 1) * dilation + 1; an error where that is absurd.
Result<std::int64_t> window_extent(const InferContext& context, std::int64_t kernel,
                                   std::int64_t dilation);

}  // namespace parallax
