// The kernel of depthwise ConvInteger whose result is quantised, on CPUs with AVX-512 VNNI.
// Thread-safe.
#pragma once

#include <memory>

#include "kernels/convolution_shape.h"
#include "kernels/kernel.h"

namespace parallax {

/// Creates the kernel of a depthwise convolution with a filter for each channel. Returns null if
/// the CPU lacks VNNI, the result is not of bytes, or the zero point of the weights is not in the
/// middle of their type. REQUIRES: at most kMaxByteDepthwiseTaps taps. Errors: kOutOfMemory.
Result<std::unique_ptr<Kernel>> byte_depthwise_rows(const ConvolutionShape& shape,
                                                    const KernelRequest& request);

}  // namespace parallax
