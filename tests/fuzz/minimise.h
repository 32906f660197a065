// Makes a case that has a finding smaller while the finding stays.
#pragma once

#include <filesystem>
#include <string>

#include "case.h"

namespace parallax::fuzz {

/// The smallest case that was found; `fuzzed` itself where it has no finding. Every try is a
/// process of its own, so that crashes and hangs are findings too. REQUIRES: no other threads.
/// `compare`, unless empty, is a command that is given the folder of a written case and ends with
/// status 1 where it has a finding; then its findings count, and no others.
Case minimised(const Case& fuzzed, const std::filesystem::path& folder,
               const std::string& compare = {});

}  // namespace parallax::fuzz
