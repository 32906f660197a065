// Convolution as matrix products that read the image in place: the pixels below one row of a
// filter lie side by side, and those of the next output begin one stride later. Images with padding
// are copied first, tile by tile, with the zeros around them.
#pragma once

#include <memory>

#include "kernels/convolution_shape.h"
#include "kernels/cpu/elementwise/unary_loops.h"
#include "kernels/cpu/gemm/packed_matrix.h"
#include "kernels/cpu/machine.h"
#include "kernels/kernel.h"

namespace parallax {

/// Returns true if the taps of a filter row lie side by side in an image; otherwise those of a
/// filter column follow each other in the rows of the packed weights.
inline bool taps_lie_together(const ConvolutionShape& shape) { return shape.dilation[1] == 1; }

/// Creates the kernel. `weights` has a row for each element that a filter reads, in the order of
/// kernel rows, kernel columns, channels (or of kernel columns, kernel rows, channels, see above).
/// Returns a null pointer if the rows of the output are too short, or if a row of them reads too
/// much for a cache. REQUIRES: NHWC, one group.
std::unique_ptr<Kernel> make_window_convolution(const ConvolutionShape& shape,
                                                const PackedMatrix& weights,
                                                const Unary& activation, const Machine& machine);
/// Creates the kernel for any number of groups; returns a null pointer if a tile would need more
/// than 64 MiB. `weights` are those of the first group, followed by those of the others; rows are
/// in the order of kernel columns, kernel rows, channels.
std::unique_ptr<Kernel> make_grouped_windows(const ConvolutionShape& shape,
                                             const PackedMatrix& weights, const Unary& activation,
                                             const Machine& machine);

}  // namespace parallax
