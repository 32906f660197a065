#include "session/runs_in_progress.h"

#include <utility>

namespace parallax {

void RunsInProgress::begin() {
  const MutexLock lock(mutex_);
  ++running_;
}

void RunsInProgress::end() {
  const MutexLock lock(mutex_);
  --running_;
  ++ended_;
  if (std::exchange(waiting_, 0) > 0) changed_.notify_all();
}

std::uint64_t RunsInProgress::ended() const {
  const MutexLock lock(mutex_);
  return ended_;
}

bool RunsInProgress::wait_for_end(std::uint64_t before, const Deadline& deadline) {
  const WakeOnStop wake(deadline, mutex_, changed_);
  const MutexLock lock(mutex_);
  if (ended_ != before) return true;
  ++waiting_;
  changed_.notify_all();  // if all runs wait now, the others must give up too
  bool in_time = true;
  while (ended_ == before && waiting_ < running_ && in_time)
    in_time = wait_within(deadline, mutex_, changed_);
  if (ended_ != before) return true;
  --waiting_;
  return false;
}

}  // namespace parallax
