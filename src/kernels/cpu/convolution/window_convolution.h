// Convolution as matrix products that read the image where it lies: the pixels below one row of a
// filter lie side by side, and those of the next output a stride further on. Images with padding
// are copied first, tile by tile, with the zeros around them.
#pragma once

#include <memory>

#include "kernels/convolution_shape.h"
#include "kernels/cpu/elementwise/unary_loops.h"
#include "kernels/cpu/gemm/packed_matrix.h"
#include "kernels/cpu/machine.h"
#include "kernels/kernel.h"

namespace parallax {

/// Whether the taps of a filter row lie side by side in an image; else those of a filter column
/// follow each other in the rows of the packed weights.
inline bool taps_lie_together(const ConvolutionShape& shape) { return shape.dilation[1] == 1; }

/// `weights` with a row for each element that a filter reads, in the order of kernel rows, kernel
/// columns, channels (or of kernel columns, kernel rows, channels, see above). A null pointer where
/// the rows of the output are too short, or what a row of them reads is too much for a cache.
/// REQUIRES: NHWC, one group.
std::unique_ptr<Kernel> make_window_convolution(const ConvolutionShape& shape,
                                                const PackedMatrix& weights,
                                                const Unary& activation, const Machine& machine);
/// The same of any number of groups; a null pointer where a tile would need more than 64 MiB.
/// `weights` are those of the first group, and those of the others lie behind them; rows in the
/// order of kernel columns, kernel rows, channels.
std::unique_ptr<Kernel> make_grouped_windows(const ConvolutionShape& shape,
                                             const PackedMatrix& weights, const Unary& activation,
                                             const Machine& machine);

}  // namespace parallax
