// Convolution as a matrix product with packed weights: each tile copies the inputs of its output
// pixels into a matrix in scratch, row by row, and multiplies it. For filters of one tap, whose
// pixels already are rows, the image is read in place. Kernels are immutable; tiles run
// concurrently. Shapes come from convolution_shape(), so weights are constants, which are packed
// through KernelRequest::packed.
#pragma once

#include <memory>

#include "kernels/convolution_shape.h"
#include "kernels/kernel.h"

namespace parallax {

/// Creates the kernel in the precision of the request. Returns a null pointer for unknown
/// activations, and for filters with too many taps for a tile to fit a cache. In bf16 the copied
/// rows are rounded, and sums stay f32. The kernel adds a residual (kConvResidual). REQUIRES: NHWC,
/// one group. Errors: kOutOfMemory.
Result<std::unique_ptr<Kernel>> make_columns(const KernelRequest& request,
                                             const ConvolutionShape& shape);
/// Creates the kernel of the same product in f32 that reads windows of the image without copying
/// them (window_convolution.h). Also returns a null pointer if that would not pay.
Result<std::unique_ptr<Kernel>> make_windows(const KernelRequest& request,
                                             const ConvolutionShape& shape);

/// Creates the kernel for NCHW with filters of one tap, one group and no bias: filters times
/// planes. Returns a null pointer for others. Y is W [filters, channels] times X [channels, pixels]
/// for each image, which is read in place.
Result<std::unique_ptr<Kernel>> make_plane_convolution(const KernelRequest& request,
                                                       const ConvolutionShape& shape);

}  // namespace parallax
