#include "run/pool/run_places.h"

#include <algorithm>

namespace parallax {

RunPlaces::RunPlaces(std::size_t places, int workers)
    : count_(places), taken_(places), runs_of_(static_cast<std::size_t>(std::max(workers, 0))) {}

bool RunPlaces::is_free() const {
  return std::find(taken_.begin(), taken_.end(), false) != taken_.end();
}

RunPlaces::Place RunPlaces::take_free(int width, int workers) {
  const MutexLock lock(mutex_);
  if (!waiting_.empty() || !is_free()) return {};
  return take(width, workers);
}

RunPlaces::Place RunPlaces::wait_for(int width, int workers, const Deadline& deadline) {
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
RunPlaces::Place RunPlaces::take(int width, int workers) {
  const auto found = std::find(taken_.begin(), taken_.end(), false);
  *found = true;
  find_end();
  const auto present = static_cast<std::uint32_t>(std::max(workers, 0));
  const std::uint32_t row = std::min(static_cast<std::uint32_t>(std::max(width, 1) - 1), present);
  const Place place{static_cast<std::size_t>(found - taken_.begin()),
                    {least_busy(row, present), row + 1}};
  for (std::uint32_t i = 0; i < row; ++i) ++runs_of_[place.row.first - 1 + i];
  return place;
}

/// Returns the first of `row` consecutive workers, among `workers`, that have the fewest runs.
std::uint32_t RunPlaces::least_busy(std::uint32_t row, std::uint32_t workers) const {
  std::uint32_t best = 1, least = 0, sum = 0;
  for (std::uint32_t end = 0; end < workers && row < workers; ++end) {
    sum += runs_of_[end];
    if (end + 1 > row) sum -= runs_of_[end - row];
    if (end + 1 == row || (end + 1 > row && sum < least)) {
      least = sum;
      best = end + 2 - row;
    }
  }
  return best;
}

void RunPlaces::leave(const Place& place) {
  const MutexLock lock(mutex_);
  taken_[place.index] = false;
  find_end();
  for (std::uint32_t i = 0; i + 1 < place.row.width; ++i) --runs_of_[place.row.first - 1 + i];
  if (!waiting_.empty()) changed_.notify_all();
}

void RunPlaces::find_end() {
  std::size_t end = taken_.size();
  while (end > 0 && !taken_[end - 1]) --end;
  end_.store(end);
}

std::size_t RunPlaces::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size();
}

}  // namespace parallax
