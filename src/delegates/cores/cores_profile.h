// What the delegate "cores" says of itself. Pure functions.
#pragma once

#include <string>

#include "parallax/result.h"

namespace parallax {

struct CoresOptions {
  int threads = 1;
  std::string profile;  ///< a file; empty: all operators
};
/// "2", "FILE.toml", "2,FILE.toml" or nothing. Errors: kInvalidInput.
Result<CoresOptions> parse_cores_options(const std::string& text);

/// A description (delegate.h): the operators of the profile's delegate at the rates of `threads`
/// cores of this machine. Errors: of the profile; kInvalidInput where it has no delegate.
Result<std::string> describe_cores(const CoresOptions& options);

}  // namespace parallax
