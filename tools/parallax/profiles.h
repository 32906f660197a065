// Where device profiles lie.
#pragma once

#include <string>

#include "parallax/result.h"

namespace parallax::cli {

/// The file of a profile: `profile` itself where it is a path (has a '/' or ends in .toml),
/// otherwise that shipped profile, beside the installed tool or in the source tree that built it.
/// Errors: kInvalidInput, naming those that ship.
Result<std::string> find_profile(const std::string& profile);

}  // namespace parallax::cli
