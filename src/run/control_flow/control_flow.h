// Plans inside a plan: If, Loop and Scan run their bodies' Programs on the threads of the run, in
// bytes that the outer plan has set aside for the node.
//
// A body is compiled and laid out once per binding, with the node. Its branches run in order, its
// nodes share their tiles among the threads. Its arena and the values carried from trip to trip are
// one buffer of the outer plan (the workspace), live while the node runs; the branches of an If
// share it. Tensors that only running can size lie in dynamic arenas, like those of other nodes.
// Internal to run/.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/deadline.h"
#include "base/mutex.h"
#include "bind/program.h"

namespace parallax {

/// Ends a run early. A run and all bodies in it share one. Thread-safe.
struct RunLimits {
  std::atomic<std::int64_t> trips_left{0};  ///< of all loops together
  std::int64_t max_trips = 0;
  Deadline deadline;

  /// Keeps the first error. The run and all its bodies then stop at the next node or tile, and none
  /// of them counts as done.
  void stop(Error error);
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  /// The error of a run that was stopped.
  Status status() const;

  /// Counts `count` trips. Errors (kLimitExceeded): too many trips, or the time is up.
  Status take_trips(std::int64_t count);

 private:
  std::atomic<bool> stopped_{false};
  mutable Mutex mutex_;
  std::optional<Error> error_ PX_GUARDED_BY(mutex_);
};

/// Refuses loops that are known to make too many trips, before their outputs are allocated. Errors:
/// kLimitExceeded.
Status check_known_trips(const Compiled& compiled, std::int64_t max_trips);

}  // namespace parallax
