// The memory of a compiled binding and of its plans themselves, not of runs, for a cache that
// counts bytes. Thread-safe: pure functions.
#pragma once

#include <cstdint>

#include "bind/program.h"

namespace parallax {

/// Returns the bytes of a binding: vectors and kernels' tables exactly, plus kKernelBytes for each
/// kernel. Objects that several bindings share count in the binding that made them; weights, packed
/// once for all bindings, do not count. The allocator uses up to 1.5 times as much for the models
/// of models/zoo. The result may grow when nodes whose shapes only a run determines have run. The
/// memory of its devices and regions is counted elsewhere (delegate_host/device_ledger.h).
std::int64_t footprint(const Bound& bound);
/// Returns the bytes of the program alone; its Bound is shared by all programs of the binding.
std::int64_t footprint(const Program& program);

}  // namespace parallax
