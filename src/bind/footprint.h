// The memory of a compiled binding and of its plans themselves, not of running them, for a cache
// that counts bytes. Thread-safe: pure functions.
#pragma once

#include <cstdint>

#include "bind/program.h"

namespace parallax {

/// Counts vectors and kernels' tables exactly, and kKernelBytes for each kernel besides. Counts
/// what several bindings share where it was made; leaves out weights (packed once for all
/// bindings). The allocator gives up to 1.5 times as much for the models of models/zoo. After a run
/// of run-time nodes it may be more.
std::int64_t footprint(const Bound& bound);
/// Of the program alone; its Bound is shared by all programs of the binding.
std::int64_t footprint(const Program& program);

}  // namespace parallax
