// Convolution of groups of channels, each with its own filters, in NHWC; also of filters that are
// too large for other kernels. The kernel is immutable; tiles run concurrently.
#pragma once

#include <memory>

#include "kernels/convolution_shape.h"
#include "kernels/kernel.h"

namespace parallax {

/// Creates the kernel for NHWC. Returns a null pointer for other layouts, unknown activations, and
/// filters so large that a tile would need more than 64 MiB. Errors: kOutOfMemory.
Result<std::unique_ptr<Kernel>> make_grouped_convolution(const KernelRequest& request,
                                                         const ConvolutionShape& shape);

}  // namespace parallax
