// Convolution by Winograd's minimal filtering: 1.3 to 4 times fewer multiplications than direct
// sums over the filter. Output pixels are computed in small squares, of pixels that lie a dilation
// apart; the transformed inputs of many squares and the transformed weights are multiplied as
// matrices, one product per point of the transform. A NaN or an infinity among the inputs turns all
// outputs of its square into NaN. Rounding errors are somewhat greater than those of direct sums
// (winograd_loops.cc states them). The kernel is immutable; tiles run concurrently.
#pragma once

#include <memory>
#include <optional>

#include "kernels/convolution_shape.h"
#include "kernels/cpu/convolution/winograd_loops.h"
#include "kernels/kernel.h"

namespace parallax {

/// Returns the form that suits a convolution best; nullopt if another kernel is faster, or if no
/// form can compute it.
std::optional<WinogradForm> winograd_form(const ConvolutionShape& shape);

/// Creates the kernel of that form. Returns a null pointer if the form cannot compute the
/// convolution: wrong filter, strides or groups, a dilation and a stride of 2, NCHW, an unknown
/// activation, or too many channels for a tile to fit a cache. Errors: kOutOfMemory.
Result<std::unique_ptr<Kernel>> make_winograd(const KernelRequest& request,
                                              const ConvolutionShape& shape, WinogradForm form);

}  // namespace parallax
