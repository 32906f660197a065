// Options and description of the delegate "cores". Thread-safety: pure functions.
#pragma once

#include <string>

#include "parallax/result.h"

namespace parallax {

/// The options of one delegate "cores".
struct CoresOptions {
  /// At least 1. At most 256.
  int threads = 1;
  std::string profile;  ///< a file; empty: all operators
};
/// Parses "2", "FILE.toml", "2,FILE.toml" or an empty text. Errors: kInvalidInput. Stage
/// kPartition: threads outside 1 to 256, two profiles, or an empty item. Later numbers replace
/// earlier ones. The profile is not opened.
Result<CoresOptions> parse_cores_options(const std::string& text);

/// Returns a description (delegate.h) in TOML: the operators of the profile's delegate at the rates
/// of `threads` cores. Errors: those of reading the profile; kInvalidInput if it
/// has no delegate. Rates are those of kMeasuredCore (cost/kernel_seconds.h): `threads` cores for
/// the delegate, the other CPUs of the process, at least one, for the CPU. Without a profile the
/// memory is that of the machine, in bytes, and sizes that only a run determines are supported.
/// Launches are stated as 20 us.
Result<std::string> describe_cores(const CoresOptions& options);

}  // namespace parallax
