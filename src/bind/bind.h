// Makes a compiled graph ready to run: packs the weights that its kernels read.
#pragma once

#include "compile/program.h"

namespace parallax {

/// Packs what the kernels of `compiled` and of its bodies need and no other plan has packed;
/// `parallel` does it on several threads. Does nothing the second time; after an error, which
/// leaves what was packed, it goes on. Thread-safe. Errors: kOutOfMemory, kInternal.
Status bind(const Compiled& compiled, const ParallelFor& parallel = serial_for);

/// The same for one kernel.
Status bind(const NodeKernel& kernel, PackedWeights& packed);

}  // namespace parallax
