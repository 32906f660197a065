// Prepares a compiled graph for running: packs the weights that its kernels read, and copies the
// constants that they cannot read in place.
//
// Called by PlanCache before the first run of a binding, and by runs for kernels that only they can
// make.
#pragma once

#include "bind/program.h"

namespace parallax {

/// Packs and copies everything that the kernels of `bound` and of its bodies need, unless another
/// plan of the model has done so; `parallel` packs on several threads. Does nothing if it has
/// succeeded before; after an error, which keeps what was done, the next call continues.
/// Thread-safe. Errors: kOutOfMemory, kInternal. Holds Bound::binding meanwhile, so that other
/// threads wait. Kernels of regions are not packed here: the CPU packs them when it first runs such
/// a region. The caller holds no lock other than turns.
Status bind(Bound& bound, const ParallelFor& parallel = serial_for);

/// Does the same for one kernel of `node`, which was made during a run. Errors: as bind().
Result<BoundKernel> bind_kernel(const Compiled& compiled, NodeId node, NodeKernel code);

/// Packs the weights of one kernel whose constants bind() has provided. Errors: as bind(). Does
/// nothing for a kernel without packings.
Status pack(const NodeKernel& code, PackedWeights& packed);

/// Returns BoundKernel::fixed of a kernel of `node`, with constants in place: not copied, and
/// perhaps not aligned.
std::vector<const std::byte*> fixed_inputs(const Compiled& compiled, NodeId node,
                                           const NodeKernel& code);

}  // namespace parallax
