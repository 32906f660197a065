// Names all that decides a model's graph besides the model. Thread-safety: pure functions.
#pragma once

#include <string>

namespace parallax {

/// Changes with the sources that read a model, rewrite its graph or compute constants, and with the
/// compiler and its flags.
std::string graph_version();

}  // namespace parallax
