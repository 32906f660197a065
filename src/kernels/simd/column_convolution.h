// Convolution as a matrix product with packed weights: each tile copies what its output pixels read
// into a matrix in scratch, row by row (where a pixel is a row already, it stays where it is), and
// multiplies.
#pragma once

#include <memory>

#include "kernels/convolution_shape.h"
#include "kernels/kernel.h"

namespace parallax {

/// NHWC with one group; a null pointer for others, unknown activations, and filters with too many
/// taps for a tile to fit a cache. Errors: kOutOfMemory.
Result<std::unique_ptr<Kernel>> make_column_convolution(const KernelRequest& request,
                                                        const ConvolutionShape& shape);

/// NCHW with filters of one tap, one group and no bias: filters times planes. Else a null pointer.
Result<std::unique_ptr<Kernel>> make_plane_convolution(const KernelRequest& request,
                                                       const ConvolutionShape& shape);

}  // namespace parallax
