// Plans inside a plan: If, Loop and Scan run their bodies' Programs on the threads of the run, in
// memory that the outer plan has reserved for the node.
//
// A body is compiled and laid out once per binding, with the node. Its branches run in order, its
// nodes share their tiles among the threads. Its arena and the values carried between trips are one
// buffer of the outer plan (the workspace), live while the node runs; the branches of an If share
// it. Tensors whose sizes only a run determines are in dynamic arenas, like those of other nodes.
// Internal to run/.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/deadline.h"
#include "base/mutex.h"
#include "bind/program.h"

namespace parallax {

/// The limits of a run, which end it early. A run and all its bodies share one object. Thread-safe.
/// Set `trips_left`, `max_trips` and `deadline` before other threads use it.
struct RunLimits {
  std::atomic<std::int64_t> trips_left{0};  ///< trips left for all loops together
  std::int64_t max_trips = 0;               ///< ExecuteOptions::max_loop_trips
  Deadline deadline;                        ///< ExecuteOptions::deadline

  /// Stops the run with an error; the first one is kept. The run and all its bodies stop at the
  /// next node or tile, and none of them counts as done. Does not wait. Tiles that run are finished
  /// first.
  void stop(Error error);
  /// Whether the run was stopped.
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  /// Returns the error of a run that was stopped, else success. Has the error of the first stop().
  Status status() const;

  /// Counts `count` trips. Errors: kLimitExceeded for too many trips, or if the time is up;
  /// kCancelled. Loops call it before each trip, or once with all trips if these exceed the limit.
  /// It does not stop the run by itself.
  Status take_trips(std::int64_t count);

 private:
  std::atomic<bool> stopped_{false};
  mutable Mutex mutex_;
  std::optional<Error> error_ PX_GUARDED_BY(mutex_);
};

/// Refuses a program whose loops are known to make too many trips, before their outputs are
/// allocated. Errors: kLimitExceeded. Names the node. Only loops of the graph itself are checked,
/// not those in bodies: RunLimits counts all.
Status check_known_trips(const Compiled& compiled, std::int64_t max_trips);

}  // namespace parallax
