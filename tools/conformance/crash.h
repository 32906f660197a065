// A delegate that crashes takes the process along: what it was doing is said first. Functions of
// one thread.
#pragma once

#include <string_view>

namespace parallax::conformance {

/// From now on a crash ends the process with status 1 and a line that names what `now` was told
/// last.
void catch_crashes();
void now(std::string_view what);

}  // namespace parallax::conformance
