// The contents of a Runtime. Internal to session/.
//
// Copies of a Runtime, models and sessions share it through shared pointers; the last owner
// destroys it, on its thread. After an unsafe fork its memory is left allocated.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/access.h"
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

/// Limit on threads that options may request: above it the number is a mistake. Options beyond it
/// are refused with kInvalidInput.
inline constexpr int kMaxThreads = 1024;

/// Thread-safe. Members are destroyed in reverse order: asynchronous runs end before the workers.
struct Runtime::Impl {
  /// `threads`: the number to use, >= 1; options_in.threads may be 0. Starts no thread and loads no
  /// library yet. REQUIRES: Runtime::create() has checked the options.
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
  const std::shared_ptr<MemorySource> source;  ///< memory for activations and packed weights
  Workers workers;
  AsyncRuns async;      ///< the queue of Session::run_async()
  Delegates delegates;  ///< those that sessions may name
  RateStore rates;      ///< measured times of devices

  /// Makes trim() include the account of a session, as long as that account lives. Holds a weak
  /// reference; an account that is added again is listed once.
  void add(const std::shared_ptr<MemoryAccount>& account);
  /// Frees all memory that no run of the runtime's sessions uses. Calls MemoryAccount::trim() for
  /// each account, without this object's mutex. Throws std::bad_alloc if there is no memory for the
  /// list.
  void trim();

  /// Starts workers as Workers::start() does; logs a warning if the system has fewer threads.
  /// Returns the threads of a run, its caller included. Then ends asynchronous threads beyond
  /// async_threads().
  int start(int threads);
  /// The most threads for asynchronous runs: together with the workers at most as many as the
  /// runtime may have, but at least one.
  std::size_t async_threads() {
    return static_cast<std::size_t>(
        std::max(1, workers.most_threads() - workers.pool().threads() + 1));
  }

 private:
  Mutex mutex_;
  std::vector<std::weak_ptr<MemoryAccount>> accounts_ PX_GUARDED_BY(mutex_);
};

/// Returns the runtime of a session that is created without one: its model's, or a new one if the
/// session needs more threads than that has. Errors: as Runtime::create(). The model's runtime is
/// the one that load() was given, else Runtime::shared(). A new one has the same options but for
/// the number of threads, and is logged.
Result<Runtime> runtime_for(const SessionOptions& options, const Model& model);

}  // namespace parallax
