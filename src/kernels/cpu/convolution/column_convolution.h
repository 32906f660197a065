// Convolution as a matrix product with packed weights: each tile copies what its output pixels read
// into a matrix in scratch, row by row (where a pixel is a row already, it stays where it is), and
// multiplies.
#pragma once

#include <memory>

#include "kernels/convolution_shape.h"
#include "kernels/kernel.h"

namespace parallax {

/// In the precision of the request. A null pointer for unknown activations, and filters with too
/// many taps for a tile to fit a cache. REQUIRES: NHWC, one group. Errors: kOutOfMemory.
Result<std::unique_ptr<Kernel>> make_columns(const KernelRequest& request,
                                             const ConvolutionShape& shape);
/// The same product of f32 from windows of the image that are not copied (window_convolution.h); a
/// null pointer also where it would not pay.
Result<std::unique_ptr<Kernel>> make_windows(const KernelRequest& request,
                                             const ConvolutionShape& shape);

/// NCHW with filters of one tap, one group and no bias: filters times planes. Else a null pointer.
Result<std::unique_ptr<Kernel>> make_plane_convolution(const KernelRequest& request,
                                                       const ConvolutionShape& shape);

}  // namespace parallax
