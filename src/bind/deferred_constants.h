// Which deferred constants (ops/deferred.h) a binding needs, and when. Internal to bind(). Pure
// functions but for compute_all().
#pragma once

#include <vector>

#include "bind/program.h"

namespace parallax {

/// Those whose bytes nodes read at every run, also in bodies.
std::vector<Constant> constants_read(const Bound& bound);
/// Those that the kernel of a node reads when it packs only.
std::vector<Constant> constants_packed(const Bound& bound, NodeId node);

/// Computes them, several at once. Errors: as compute().
Result<std::vector<Computed>> compute_all(const std::vector<Constant>& constants,
                                          const ParallelFor& parallel);

}  // namespace parallax
