// The runs of an account that are in progress, for a run that must wait until another one ends.
// Internal to session/.
//
// Thread-safe.
//
// Runs release the memory of their plans' regions when they end; a run that lacks it waits here.
// Waits for blocks are in RunMemory.
#pragma once

#include <cstdint>

#include "base/deadline.h"
#include "base/mutex.h"

namespace parallax {

/// Counts runs, and detects that all of them wait for each other.
class RunsInProgress {
 public:
  /// A run: it is in progress while this lives. Declare it before the run's plan and memory, so
  /// that it outlives them. `all` must outlive it. Its destructor wakes every waiting run.
  class Run {
   public:
    explicit Run(RunsInProgress& all) : all_(all) { all_.begin(); }
    ~Run() { all_.end(); }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    RunsInProgress& all_;
  };

  /// Number of runs that have ended so far. Read it before looking for memory, so that an end in
  /// between is not missed.
  std::uint64_t ended() const;
  /// Blocks until more runs have ended than `before`, a result of ended(). False: all runs in
  /// progress wait here, so that none can end; or `deadline` has passed. REQUIRES: the caller is a
  /// run in progress that holds no plan. On false the caller must check its deadline:
  /// kLimitExceeded or kCancelled if that has passed. Else it must look for memory a last time,
  /// since waiting runs may have released some before they waited, and fails if it finds too
  /// little; the others wait until it ends. A stop request wakes it.
  bool wait_for_end(std::uint64_t before, const Deadline& deadline);

 private:
  void begin();
  void end();

  mutable Mutex mutex_;
  Condition changed_;
  int running_ PX_GUARDED_BY(mutex_) = 0;  // runs in progress
  // Runs that wait, since the last one ended. Reset to 0 by each end, because every waiting run
  // then tries again.
  int waiting_ PX_GUARDED_BY(mutex_) = 0;
  std::uint64_t ended_ PX_GUARDED_BY(mutex_) = 0;
};

}  // namespace parallax
