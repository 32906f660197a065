// The delegate "cores": threads of its own that run regions with the CPU's kernels, as big cores or
// an NPU would beside the cores of the runtime. It works in the host's memory, so that nothing is
// copied, and gives the bits that the CPU gives for the same nodes.
//
// Its text, behind "cores:", is a list with commas: how many threads it has (1), and the profile
// (a .toml file) whose operators, types, ranks and limits it claims; without one it claims all
// operators that have kernels. The rates are those of this machine's cores either way.
//
// Thread-safe, as delegate.h says.
#pragma once

#include "parallax/delegate.h"

namespace parallax {

const px_delegate* cores_delegate();

}  // namespace parallax
