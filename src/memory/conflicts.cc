#include "memory/conflicts.h"

#include <numeric>
#include <utility>

namespace parallax {
namespace {

/// Pairs every buffer, as it is made, with all that are live.
class PairFinder {
 public:
  PairFinder(const Timeline& timeline, std::size_t limit)
      : timeline_(timeline), limit_(limit), place_(timeline.lifetimes.size(), -1) {}

  void begin_step(std::int32_t) {}
  void make(std::int32_t buffer) {
    if (pairs_.size() + live_.size() > limit_) too_many_ = true;
    if (too_many_) return;
    for (std::int32_t other : live_) pairs_.emplace_back(buffer, other);
    add(buffer);
  }
  void free(std::int32_t buffer) {
    if (too_many_) return;
    remove(buffer);
    freed_.push_back(buffer);
  }
  /// Ends a branch: for the other branches of the step, all of its buffers live from the step's
  /// start to its end.
  void end_branch(std::int32_t step) {
    const auto s = static_cast<std::size_t>(step);
    if (timeline_.step_begin[s + 1] - timeline_.step_begin[s] > 1) {
      for (std::int32_t buffer : freed_) add(buffer);
      dead_at_step_end_.insert(dead_at_step_end_.end(), freed_.begin(), freed_.end());
    }
    freed_.clear();
  }
  void end_step() {
    for (std::int32_t buffer : dead_at_step_end_) remove(buffer);
    dead_at_step_end_.clear();
    freed_.clear();
  }

  bool too_many() const { return too_many_; }
  const std::vector<std::pair<std::int32_t, std::int32_t>>& pairs() const { return pairs_; }

 private:
  std::int32_t& place(std::int32_t buffer) { return place_[static_cast<std::size_t>(buffer)]; }
  void add(std::int32_t buffer) {
    place(buffer) = static_cast<std::int32_t>(live_.size());
    live_.push_back(buffer);
  }
  void remove(std::int32_t buffer) {
    const std::int32_t last = live_.back();
    live_[static_cast<std::size_t>(place(buffer))] = last;
    place(last) = place(buffer);
    live_.pop_back();
  }

  const Timeline& timeline_;
  const std::size_t limit_;
  std::vector<std::int32_t> place_;  // index of each buffer in live_
  std::vector<std::int32_t> live_;
  std::vector<std::int32_t> freed_;
  std::vector<std::int32_t> dead_at_step_end_;
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs_;
  bool too_many_ = false;
};

}  // namespace

std::optional<Conflicts> Conflicts::find(const Timeline& timeline, std::size_t limit) {
  PairFinder finder(timeline, limit);
  sweep(timeline, finder);
  if (finder.too_many()) return std::nullopt;
  Conflicts conflicts;
  conflicts.begin_.assign(timeline.lifetimes.size() + 1, 0);
  for (const auto& [a, b] : finder.pairs()) {
    ++conflicts.begin_[static_cast<std::size_t>(a) + 1];
    ++conflicts.begin_[static_cast<std::size_t>(b) + 1];
  }
  std::partial_sum(conflicts.begin_.begin(), conflicts.begin_.end(), conflicts.begin_.begin());
  conflicts.others_.resize(conflicts.begin_.back());
  std::vector<std::size_t> next(conflicts.begin_.begin(), conflicts.begin_.end() - 1);
  for (const auto& [a, b] : finder.pairs()) {
    conflicts.others_[next[static_cast<std::size_t>(a)]++] = b;
    conflicts.others_[next[static_cast<std::size_t>(b)]++] = a;
  }
  return conflicts;
}

}  // namespace parallax
