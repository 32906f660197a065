// Compiles the bodies of If, Loop and Scan together with their node. Internal to compile().
#pragma once

#include "compile/compiled.h"

namespace parallax {

/// Compiles the bodies of `node` and adds the bytes of its workspace. Errors: those of compile()
/// and plan_of(). A branch of an If that cannot work with these dimensions fails only when it is
/// taken. Also kOutOfMemory if the workspace exceeds 63 bits. Sets the node's role, bodies, loop
/// buffers, trips and predicted work: that of all trips if their number is known, else of one.
Status compile_bodies(Compiled& compiled, NodeId node);

}  // namespace parallax
