// Convolution of each channel with a filter of its own.
#pragma once

#include <memory>

#include "kernels/convolution_shape.h"
#include "kernels/kernel.h"

namespace parallax {

/// NHWC with as many groups and filters as channels, and at least half a vector of them; a null
/// pointer for others and unknown activations. Errors: kOutOfMemory.
Result<std::unique_ptr<Kernel>> make_depthwise_convolution(const KernelRequest& request,
                                                           const ConvolutionShape& shape);

}  // namespace parallax
