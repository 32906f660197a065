// Convolution of groups of channels, each with filters of its own, in NHWC; also of filters that
// are too large for the other ways.
#pragma once

#include <memory>

#include "kernels/convolution_shape.h"
#include "kernels/kernel.h"

namespace parallax {

/// NHWC; a null pointer for others, unknown activations, and filters so large that a tile would
/// need more than 64 MiB. Errors: kOutOfMemory.
Result<std::unique_ptr<Kernel>> make_grouped_convolution(const KernelRequest& request,
                                                         const ConvolutionShape& shape);

}  // namespace parallax
