// Convolution in NHWC with up to four filters, output by output. The kernel is immutable; tiles run
// concurrently. Taps in the padding are left out.
#pragma once

#include <memory>

#include "kernels/convolution_shape.h"
#include "kernels/kernel.h"

namespace parallax {

/// Creates the kernel for one group, taps of a row that lie together, and rows of a filter that
/// fill a vector. Returns a null pointer for others and for unknown activations. Weights are packed
/// as [filters, taps, channels]. Errors: kOutOfMemory.
Result<std::unique_ptr<Kernel>> make_dot_convolution(const KernelRequest& request,
                                                     const ConvolutionShape& shape);

}  // namespace parallax
