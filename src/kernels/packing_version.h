// Version of the packing code: packed weights in a cache are valid only if it is equal.
// Thread-safety: pure functions.
#pragma once

#include <string>

namespace parallax {

/// Returns the instruction set that packers and kernels use on this CPU: "AVX3", "AVX2", "NEON".
std::string packing_machine();
/// Changes with the sources of this folder, the compiler and its flags, and the machine above.
std::string packing_version();

}  // namespace parallax
