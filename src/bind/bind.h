// Makes a compiled graph ready to run: packs the weights that its kernels read, and copies the
// constants that they cannot read where they lie.
#pragma once

#include "bind/program.h"

namespace parallax {

/// Provides what the kernels of `bound` and of its bodies need and no other plan has made them;
/// `parallel` packs on several threads. Does nothing the second time; after an error, which leaves
/// what was done, it goes on. Thread-safe. Errors: kOutOfMemory, kInternal.
Status bind(Bound& bound, const ParallelFor& parallel = serial_for);

/// The same for one kernel of `node`. Errors: the same.
Result<BoundKernel> bind_kernel(const Compiled& compiled, NodeId node, NodeKernel code);

/// Packs for one kernel whose constants bind() has provided. Errors: the same.
Status pack(const NodeKernel& code, PackedWeights& packed);

/// Of a kernel of `node`: BoundKernel::fixed, its constants where they lie.
std::vector<const std::byte*> fixed_inputs(const Compiled& compiled, NodeId node,
                                           const NodeKernel& code);

}  // namespace parallax
