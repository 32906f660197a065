// The folder of device profiles.
#pragma once

#include <string>

#include "options/options.h"

namespace parallax::cli {

/// The file of a profile: `profile` itself if it is a path (has a '/' or ends in .toml),
/// otherwise that shipped profile, next to the installed tool or in the source tree that built it.
/// Throws UsageError, naming those that ship.
std::string find_profile(const std::string& profile);

}  // namespace parallax::cli
