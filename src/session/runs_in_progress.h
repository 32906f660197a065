// The runs of an account that are in progress, for a run that must wait until another one ends.
// Internal to session/.
//
// Thread-safe.
#pragma once

#include <cstdint>

#include "base/deadline.h"
#include "base/mutex.h"

namespace parallax {

/// Counts runs, and detects that all of them wait for each other.
class RunsInProgress {
 public:
  /// A run: it is in progress while this lives. Declare it before the run's plan and memory, so
  /// that it outlives them.
  class Run {
   public:
    explicit Run(RunsInProgress& all) : all_(all) { all_.begin(); }
    ~Run() { all_.end(); }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    RunsInProgress& all_;
  };

  /// Number of runs that have ended so far.
  std::uint64_t ended() const;
  /// Blocks until more runs have ended than `before`, a result of ended(). False: all runs in
  /// progress wait here, so that none can end; or `deadline` has passed. REQUIRES: the caller is a
  /// run in progress.
  bool wait_for_end(std::uint64_t before, const Deadline& deadline);

 private:
  void begin();
  void end();

  mutable Mutex mutex_;
  Condition changed_;
  int running_ PX_GUARDED_BY(mutex_) = 0;  // runs in progress
  int waiting_ PX_GUARDED_BY(mutex_) = 0;  // runs that wait, since the last one ended
  std::uint64_t ended_ PX_GUARDED_BY(mutex_) = 0;
};

}  // namespace parallax
