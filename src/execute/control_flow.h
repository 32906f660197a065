// Plans inside a plan: If, Loop and Scan run their bodies' Programs on the threads of the run, in
// bytes that the outer plan has set aside for the node.
//
// A body is compiled and laid out once per binding, with the node. Its branches run in order, its
// nodes share their tiles among the threads. Its arena and what carries values from trip to trip
// are one buffer of the outer plan (the workspace), live while the node runs: the branches of an If
// share it. What only running can size comes from dynamic arenas, like that of any other node.
// Internal to execute/.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/mutex.h"
#include "execute/deadline.h"
#include "execute/program.h"

namespace parallax {

/// What ends a run early: one for a run and all the bodies in it. Thread-safe.
struct RunLimits {
  std::atomic<std::int64_t> trips_left{0};  ///< of all loops together
  std::int64_t max_trips = 0;
  Deadline deadline;

  /// Keeps the first error. From here on the run and all its bodies stop at the next node or tile,
  /// and none of them counts as done.
  void stop(Error error);
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  /// The error of a run that was stopped.
  Status status() const;

  /// Takes `count` trips. Errors (kLimitExceeded): too many, or the time is up.
  Status take_trips(std::int64_t count);

 private:
  std::atomic<bool> stopped_{false};
  mutable Mutex mutex_;
  std::optional<Error> error_ PX_GUARDED_BY(mutex_);
};

/// Loops that are known to make too many trips are refused before any memory is made for what they
/// give. Errors: kLimitExceeded.
Status check_known_trips(const Compiled& compiled, std::int64_t max_trips);

/// Fills the compiled node from its bodies and adds its workspace's bytes. Errors: as compile() and
/// lay_out(). A branch of an If that cannot work with these dimensions is an error only when taken.
Status compile_bodies(Compiled& compiled, NodeId node);

}  // namespace parallax
