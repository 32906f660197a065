// Options and description of the delegate "cores". Thread-safety: pure functions.
#pragma once

#include <string>

#include "parallax/result.h"

namespace parallax {

/// The options of one delegate "cores".
struct CoresOptions {
  int threads = 1;      ///< at least 1
  std::string profile;  ///< a file; empty: all operators
};
/// Parses "2", "FILE.toml", "2,FILE.toml" or an empty text. Errors: kInvalidInput.
Result<CoresOptions> parse_cores_options(const std::string& text);

/// Returns a description (delegate.h) in TOML: the operators of the profile's delegate at the rates
/// of `threads` cores of this machine. Errors: those of reading the profile; kInvalidInput if it
/// has no delegate.
Result<std::string> describe_cores(const CoresOptions& options);

}  // namespace parallax
