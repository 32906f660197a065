// What a Runtime holds. Internal to session/.
#pragma once

#include <memory>

#include "parallax/runtime.h"
#include "session/workers.h"

namespace parallax {

/// More threads than any machine has cores are a mistake.
inline constexpr int kMaxThreads = 1024;

/// Thread-safe.
struct Runtime::Impl {
  explicit Impl(const RuntimeOptions& options_in, int threads)
      : options(options_in), workers(threads) {}

  const RuntimeOptions options;
  Workers workers;
};

/// The runtime of a session that is given none: the shared one, or, where the session wants more
/// threads than that has, one of its own. Errors: as Runtime::create().
Result<Runtime> runtime_for(const SessionOptions& options);

}  // namespace parallax
