// The time by which a run must end.
#pragma once

#include <chrono>
#include <optional>

#include "parallax/result.h"

namespace parallax {

/// Nothing: the run may take any time.
using Deadline = std::optional<std::chrono::steady_clock::time_point>;

inline Error time_is_over() {
  return {Stage::kExecute, ErrorCode::kLimitExceeded, {}, "the time limit of the run is over"};
}

/// Errors (kLimitExceeded): the time is up.
inline Status check_time(const Deadline& deadline) {
  if (!deadline || std::chrono::steady_clock::now() < *deadline) return {};
  return tl::unexpected(time_is_over());
}

}  // namespace parallax
