// Convolution of each channel with its own filter. Kernels are immutable; tiles run concurrently.
// Channels lie in vectors, and taps in the padding are left out.
#pragma once

#include <memory>

#include "kernels/convolution_shape.h"
#include "kernels/cpu/convolution/depthwise_loops.h"
#include "kernels/kernel.h"

namespace parallax {

/// Creates the kernel for NHWC with as many groups and filters as channels, and at least half a
/// vector of them. Returns a null pointer for others and for unknown activations. Weights are
/// packed as [taps, channels]. Errors: kOutOfMemory.
Result<std::unique_ptr<Kernel>> make_depthwise_convolution(const KernelRequest& request,
                                                           const ConvolutionShape& shape);
/// Creates the kernel for NCHW, with one or two spatial axes and filters of at least 25 taps: fewer
/// do not pay for transposing tiles to NHWC and back. Returns a null pointer for others. Errors:
/// kOutOfMemory.
Result<std::unique_ptr<Kernel>> make_transposed_depthwise(const KernelRequest& request,
                                                          const ConvolutionShape& shape);

/// Prepares `row`, whose channels are set, to compute row `y` of the outputs of an image. On entry
/// `weights` points to those of all rows of the filter, `x` to the image from row `image_row` on.
/// Sets the members of `row` that depend on y: which rows of the filter lie on the image, and where
/// they and their weights begin.
void choose_depthwise_rows(const ConvolutionShape& shape, std::int64_t y, std::int64_t image_row,
                           DepthwiseRow& row);

}  // namespace parallax
