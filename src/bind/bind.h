// Prepares a compiled graph for running: packs the weights that its kernels read, and copies the
// constants that they cannot read in place.
#pragma once

#include "bind/program.h"

namespace parallax {

/// Packs and copies everything that the kernels of `bound` and of its bodies need, unless another
/// plan of the model has done so; `parallel` packs on several threads. Does nothing if it has
/// succeeded before; after an error, which keeps what was done, the next call continues.
/// Thread-safe. Errors: kOutOfMemory, kInternal.
Status bind(Bound& bound, const ParallelFor& parallel = serial_for);

/// Does the same for one kernel of `node`, which was made during a run. Errors: as bind().
Result<BoundKernel> bind_kernel(const Compiled& compiled, NodeId node, NodeKernel code);

/// Packs the weights of one kernel whose constants bind() has provided. Errors: as bind().
Status pack(const NodeKernel& code, PackedWeights& packed);

/// Returns BoundKernel::fixed of a kernel of `node`, with constants in place: not copied, and
/// perhaps not aligned.
std::vector<const std::byte*> fixed_inputs(const Compiled& compiled, NodeId node,
                                           const NodeKernel& code);

}  // namespace parallax
