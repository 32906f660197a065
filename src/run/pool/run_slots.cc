#include "run/pool/run_slots.h"

#include <algorithm>

namespace parallax {

RunSlots::RunSlots(std::size_t slots, int workers)
    : count_(slots), taken_(slots), runs_of_(static_cast<std::size_t>(std::max(workers, 0))) {}

bool RunSlots::is_free() const {
  return std::find(taken_.begin(), taken_.end(), false) != taken_.end();
}

RunSlots::Slot RunSlots::take_free(int width, int workers) {
  const MutexLock lock(mutex_);
  if (!waiting_.empty() || !is_free()) return {};
  return take(width, workers);
}

RunSlots::Slot RunSlots::wait_for(int width, int workers, const Deadline& deadline) {
  const WakeOnStop wake(deadline, mutex_, changed_);
  const MutexLock lock(mutex_);
  if (!waiting_.empty() || !is_free()) {
    const bool me = true;
    waiting_.push_back(&me);
    bool in_time = true;
    while (in_time && (waiting_.front() != &me || !is_free())) {
      in_time = wait_within(deadline, mutex_, changed_);
    }
    const bool served = waiting_.front() == &me && is_free();
    std::erase(waiting_, &me);
    // There may also be a slot for the next run.
    if (!waiting_.empty()) changed_.notify_all();
    if (!served) return {};
  }
  return take(width, workers);
}

/// Takes a slot. REQUIRES: is_free().
RunSlots::Slot RunSlots::take(int width, int workers) {
  const auto found = std::find(taken_.begin(), taken_.end(), false);
  *found = true;
  find_end();
  const auto present = static_cast<std::uint32_t>(std::max(workers, 0));
  const std::uint32_t helpers =
      std::min(static_cast<std::uint32_t>(std::max(width, 1) - 1), present);
  const Slot slot{static_cast<std::size_t>(found - taken_.begin()),
                  {least_busy(helpers, present), helpers + 1}};
  for (std::uint32_t i = 0; i < helpers; ++i) ++runs_of_[slot.workers.first - 1 + i];
  return slot;
}

/// Returns the first of `helpers` consecutive workers, among `workers`, that have the fewest runs.
std::uint32_t RunSlots::least_busy(std::uint32_t helpers, std::uint32_t workers) const {
  std::uint32_t best = 1, least = 0, sum = 0;
  for (std::uint32_t end = 0; end < workers && helpers < workers; ++end) {
    sum += runs_of_[end];
    if (end + 1 > helpers) sum -= runs_of_[end - helpers];
    if (end + 1 == helpers || (end + 1 > helpers && sum < least)) {
      least = sum;
      best = end + 2 - helpers;
    }
  }
  return best;
}

void RunSlots::leave(const Slot& slot) {
  const MutexLock lock(mutex_);
  taken_[slot.index] = false;
  find_end();
  for (std::uint32_t i = 0; i + 1 < slot.workers.width; ++i) --runs_of_[slot.workers.first - 1 + i];
  if (!waiting_.empty()) changed_.notify_all();
}

void RunSlots::find_end() {
  std::size_t end = taken_.size();
  while (end > 0 && !taken_[end - 1]) --end;
  end_.store(end);
}

std::size_t RunSlots::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size();
}

}  // namespace parallax
