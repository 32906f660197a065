// Compiles the bodies of If, Loop and Scan with the node that has them. Internal to compile().
#pragma once

#include "compile/compiled.h"

namespace parallax {

/// Compiles the bodies of `node` and adds the bytes of its workspace. Errors: as compile() and
/// plan_of(). A branch of an If that cannot work with these dimensions fails only when taken.
Status compile_bodies(Compiled& compiled, NodeId node);

}  // namespace parallax
