// Convolution in NHWC whose groups have no more filters than a vector: one vector holds the filters
// of one group or of several. The kernel is immutable; tiles run concurrently.
#pragma once

#include <memory>

#include "kernels/convolution_shape.h"
#include "kernels/kernel.h"

namespace parallax {

/// Creates the kernel. Returns a null pointer for NCHW, groups of more filters than a vector holds,
/// too many weights per vector, and unknown activations. Errors: kOutOfMemory.
Result<std::unique_ptr<Kernel>> make_small_groups(const KernelRequest& request,
                                                  const ConvolutionShape& shape);

}  // namespace parallax
