// The version of the code that makes a model's graph. Thread-safety: pure functions.
#pragma once

#include <string>

namespace parallax {

/// Returns a name that changes with the sources that read a model, rewrite its graph or compute
/// constants, and with the compiler and its flags.
std::string graph_version();

}  // namespace parallax
