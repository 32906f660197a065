// Convolution of images that lie channel by channel (NCHW): each tile copies its inputs with the
// zeros around it, cut so that the inputs of a tap lie side by side for neighbouring outputs, and
// multiplies runs of outputs by a few filters together. One kernel for one, two and three spatial
// axes, groups, strides and dilations.
#pragma once

#include <memory>

#include "kernels/convolution_shape.h"
#include "kernels/kernel.h"

namespace parallax {

/// Creates the kernel for NCHW. Returns a null pointer for other layouts, unknown activations, and
/// filters of more than 2^16 taps.
/// Errors: kOutOfMemory.
Result<std::unique_ptr<Kernel>> make_planar_convolution(const KernelRequest& request,
                                                        const ConvolutionShape& shape);

}  // namespace parallax
