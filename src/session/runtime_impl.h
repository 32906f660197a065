// What a Runtime holds. Internal to session/.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/log.h"
#include "base/machine/memory_source.h"
#include "base/mutex.h"
#include "parallax/model.h"
#include "parallax/runtime.h"
#include "rates/delegate_rates.h"
#include "session/async_runs.h"
#include "session/delegates.h"
#include "session/workers.h"

namespace parallax {

/// More threads than any machine has cores are a mistake.
inline constexpr int kMaxThreads = 1024;

/// Thread-safe.
struct Runtime::Impl {
  explicit Impl(const RuntimeOptions& options_in, int threads)
      : options(options_in),
        log(options.log),
        source(std::make_shared<MemorySource>(options.pages, options.allocator)),
        workers(threads, options.pool),
        async(options.pool),
        delegates(options.delegate_libraries, options.cache, log),
        rates(options.cache, log) {}

  const RuntimeOptions options;
  const Logger log;
  const std::shared_ptr<MemorySource> source;
  Workers workers;
  AsyncRuns async;
  Delegates delegates;
  RateStore rates;

  /// Has trim() reach the account of a session.
  void add(const std::shared_ptr<MemoryAccount>& account);
  /// Frees what no run of the runtime's sessions uses.
  void trim();

  /// As Workers::start().
  int start(int threads);
  /// Threads that may run for callers who do not wait: with the workers no more than the runtime
  /// may have, and one at least.
  std::size_t async_threads() {
    return static_cast<std::size_t>(
        std::max(1, workers.most_threads() - workers.pool().threads() + 1));
  }

 private:
  Mutex mutex_;
  std::vector<std::weak_ptr<MemoryAccount>> accounts_ PX_GUARDED_BY(mutex_);
};

/// The runtime of a session that is given none: its model's, or, where the session wants more
/// threads than that has, one of its own. Errors: as Runtime::create().
Result<Runtime> runtime_for(const SessionOptions& options, const Model& model);

}  // namespace parallax
