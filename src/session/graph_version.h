// What the graph that a model becomes depends on besides the model. Thread-safety: pure functions.
#pragma once

#include <string>

namespace parallax {

/// Changes with the sources of all that reads a model, rewrites its graph and computes constants,
/// and with the compiler and its flags.
std::string graph_version();

}  // namespace parallax
