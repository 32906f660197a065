// Convolution of each channel with a filter of its own.
#pragma once

#include <memory>

#include "kernels/convolution_shape.h"
#include "kernels/cpu/convolution/depthwise_loops.h"
#include "kernels/kernel.h"

namespace parallax {

/// NHWC with as many groups and filters as channels, and at least half a vector of them; a null
/// pointer for others and unknown activations. Errors: kOutOfMemory.
Result<std::unique_ptr<Kernel>> make_depthwise_convolution(const KernelRequest& request,
                                                           const ConvolutionShape& shape);
/// The same in NCHW, with one or two spatial axes and filters of at least 25 taps: fewer do not pay
/// for turning tiles to NHWC and back.
Result<std::unique_ptr<Kernel>> make_turned_depthwise(const KernelRequest& request,
                                                      const ConvolutionShape& shape);

/// Makes `row`, whose channels are set, row `y` of the outputs of an image: `weights` holds those
/// of all rows of the filter, `x` rows of the image from `image_row` on.
void choose_depthwise_rows(const ConvolutionShape& shape, std::int64_t y, std::int64_t image_row,
                           DepthwiseRow& row);

}  // namespace parallax
