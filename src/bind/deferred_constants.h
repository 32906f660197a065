// The deferred constants (ops/deferred.h) that a binding needs, and when. Internal to bind(). Pure
// functions except compute_all().
#pragma once

#include <vector>

#include "bind/program.h"

namespace parallax {

/// Returns the deferred constants that nodes read in every run, also in bodies; each once. Those of
/// graph outputs are among them. The bytes of the result are not there yet.
std::vector<Constant> constants_read(const Bound& bound);
/// Returns the deferred constants that the kernel of a node reads only when it packs; each once.
/// Those are not among them for which it packs what the file has.
std::vector<Constant> constants_packed(const Bound& bound, NodeId node);

/// Computes constants, several concurrently, in the order given. Errors: as compute(). The
/// constants are readable while the result lives. If several fail, the first error that is noticed
/// is returned.
Result<std::vector<Computed>> compute_all(const std::vector<Constant>& constants,
                                          const ParallelFor& parallel);

}  // namespace parallax
