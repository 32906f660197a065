// What a Runtime holds. Internal to session/.
#pragma once

#include <algorithm>
#include <memory>

#include "parallax/runtime.h"
#include "session/async_runs.h"
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
  AsyncRuns async;

  /// As Workers::start().
  int start(int threads) {
    const int started = workers.start(threads);
    async.keep_within(async_threads());
    return started;
  }
  /// Threads that may run for callers who do not wait: with the workers no more than the runtime
  /// may have, and one at least.
  std::size_t async_threads() {
    return static_cast<std::size_t>(
        std::max(1, workers.most_threads() - workers.pool().threads() + 1));
  }
};

/// The runtime of a session that is given none: the shared one, or, where the session wants more
/// threads than that has, one of its own. Errors: as Runtime::create().
Result<Runtime> runtime_for(const SessionOptions& options);

}  // namespace parallax
