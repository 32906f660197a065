// Ways of running a model, drawn at random.
#pragma once

#include <string>

#include "parallax/session.h"
#include "random.h"

namespace parallax::fuzz {

SessionOptions any_options(Random& random);
/// For a finding.
std::string text_of(const SessionOptions& options);

}  // namespace parallax::fuzz
