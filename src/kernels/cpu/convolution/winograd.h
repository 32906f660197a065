// Convolution by Winograd's minimal filtering: 1.3 to 4 times fewer multiplications than sums over
// the filter take. Output pixels are computed in small squares; the transformed inputs of many
// squares and the transformed weights are multiplied as matrices, one product per point of the
// transform. A NaN or an infinity among the inputs makes NaN of all outputs of its square.
#pragma once

#include <memory>
#include <optional>

#include "kernels/convolution_shape.h"
#include "kernels/cpu/convolution/winograd_loops.h"
#include "kernels/kernel.h"

namespace parallax {

/// The form that suits a convolution best; nothing where another way is faster, or none can compute
/// it.
std::optional<WinogradForm> winograd_form(const ConvolutionShape& shape);

/// The kernel of that form, or a null pointer where the form cannot compute the convolution: wrong
/// filter, strides, dilations or groups, NCHW, an unknown activation, or too many channels for a
/// tile to fit a cache. Errors: kOutOfMemory.
Result<std::unique_ptr<Kernel>> make_winograd(const KernelRequest& request,
                                              const ConvolutionShape& shape, WinogradForm form);

}  // namespace parallax
