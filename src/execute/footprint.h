// What a compiled binding and its plans take of memory themselves, as opposed to what running them
// takes: for a cache that counts bytes. Thread-safe: pure functions.
#pragma once

#include <cstdint>

#include "execute/program.h"

namespace parallax {

/// Bytes of vectors and of kernels' tables counted exactly, kernels besides at kKernelBytes each.
/// What several bindings share counts where it was made. Weights (packed once for all bindings) and
/// what oneDNN keeps in its own cache are not counted. Within 1.5 times of what the allocator gives
/// for the models of models/zoo.
/// With run-time nodes it may be more after a run.
std::int64_t footprint(const Compiled& compiled);
/// Of the plan alone; its Compiled is shared by all plans of the binding.
std::int64_t footprint(const Program& program);

}  // namespace parallax
