// The runs of an account that are in progress, for a run that can begin only if another one ends.
// Internal to session/.
//
// Thread-safe.
#pragma once

#include <cstdint>

#include "base/deadline.h"
#include "base/mutex.h"

namespace parallax {

class RunsInProgress {
 public:
  /// A run is in progress while this lives. It outlives what the run holds: plan and memory.
  class Run {
   public:
    explicit Run(RunsInProgress& all) : all_(all) { all_.begin(); }
    ~Run() { all_.end(); }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    RunsInProgress& all_;
  };

  /// Runs that have ended.
  std::uint64_t ended() const;
  /// Waits until more runs have ended than `before`, which ended() returned. False: all runs in
  /// progress wait so, or `deadline` has come. REQUIRES: the caller is a run in progress.
  bool wait_for_end(std::uint64_t before, const Deadline& deadline);

 private:
  void begin();
  void end();

  mutable Mutex mutex_;
  Condition changed_;
  int running_ PX_GUARDED_BY(mutex_) = 0;
  int waiting_ PX_GUARDED_BY(mutex_) = 0;  // of these, since the last end
  std::uint64_t ended_ PX_GUARDED_BY(mutex_) = 0;
};

}  // namespace parallax
