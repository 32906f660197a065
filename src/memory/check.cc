#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/checked.h"
#include "base/status.h"
#include "memory/in_place.h"
#include "memory/memory.h"
#include "memory/timeline.h"

namespace parallax {
namespace {

tl::unexpected<Error> bug(std::string message) {
  return tl::unexpected(Error{Stage::kMemory, ErrorCode::kInternal, {}, std::move(message)});
}

Status check_steps(const MemoryProblem& problem, const Steps& steps,
                   IdVector<BranchId, std::int32_t>& step_of) {
  std::int64_t slots = 0;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    for (BranchId branch : steps[step]) {
      if (!step_of.contains(branch)) return bug(fmt::format("no branch {}", branch.value));
      if (step_of[branch] >= 0) return bug(fmt::format("branch {} is in two steps", branch.value));
      if (problem.branch_length[branch] < 0) {
        return bug(fmt::format("branch {} has a negative length", branch.value));
      }
      step_of[branch] = static_cast<std::int32_t>(step);
      slots += problem.branch_length[branch];
    }
  }
  const auto missing = std::find(step_of.begin(), step_of.end(), -1);
  if (missing != step_of.end()) {
    return bug(fmt::format("branch {} is in no step", missing - step_of.begin()));
  }
  if (slots >= std::numeric_limits<std::int32_t>::max()) return bug("too many nodes");
  return {};
}

/// Union of address ranges.
class Ranges {
 public:
  void add(std::int64_t begin, std::int64_t end) {
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin() && std::prev(next)->second >= begin) {
      --next;
      begin = next->first;
    }
    while (next != ranges_.end() && next->first <= end) {
      end = std::max(end, next->second);
      next = ranges_.erase(next);
    }
    ranges_.emplace(begin, end);
  }
  bool overlap(std::int64_t begin, std::int64_t end) const {
    const auto next = ranges_.lower_bound(end);
    return next != ranges_.begin() && std::prev(next)->second > begin;
  }
  void clear() { ranges_.clear(); }

 private:
  std::map<std::int64_t, std::int64_t> ranges_;  // begin -> end; disjoint, not touching
};

/// Keeps the live ranges by offset; a new one must not touch its neighbours, nor what other
/// branches of the step used and freed.
class OverlapFinder {
 public:
  OverlapFinder(const Timeline& timeline, const InPlace& in_place, const Offsets& offsets)
      : timeline_(timeline), first_(timeline.lifetimes.size()), offset_(first_.size()) {
    for (std::size_t i = in_place.joined.size(); i-- > 0;) {
      const auto joined = static_cast<std::size_t>(in_place.joined[i]);
      first_[joined] = i;
      offset_[joined] = offsets.offset[i];
    }
  }

  void begin_step(std::int32_t) {}
  void make(std::int32_t buffer) {
    if (!status_) return;
    const std::int64_t begin = offset(buffer);
    const std::int64_t end = begin + bytes(buffer);
    const auto next = live_.lower_bound(begin);
    if (next != live_.end() && next->first < end) return fail(buffer, next->second);
    if (next != live_.begin()) {
      const std::int32_t previous = std::prev(next)->second;
      if (offset(previous) + bytes(previous) > begin) return fail(buffer, previous);
    }
    if (used_.overlap(begin, end)) return fail(buffer, user_of(begin, end));
    live_.emplace_hint(next, begin, buffer);
  }
  void free(std::int32_t buffer) {
    if (!status_) return;
    live_.erase(offset(buffer));
    freed_.push_back(buffer);
  }
  void end_branch(std::int32_t step) {
    const auto s = static_cast<std::size_t>(step);
    if (timeline_.step_begin[s + 1] - timeline_.step_begin[s] > 1) {
      for (std::int32_t buffer : freed_) used_.add(offset(buffer), offset(buffer) + bytes(buffer));
      users_.insert(users_.end(), freed_.begin(), freed_.end());
    }
    freed_.clear();
  }
  void end_step() {
    used_.clear();
    users_.clear();
    freed_.clear();
  }

  Status status() const { return status_; }

 private:
  std::int64_t offset(std::int32_t buffer) const {
    return offset_[static_cast<std::size_t>(buffer)];
  }
  std::int64_t bytes(std::int32_t buffer) const {
    return timeline_.lifetimes[static_cast<std::size_t>(buffer)].bytes;
  }
  std::int32_t user_of(std::int64_t begin, std::int64_t end) const {
    return *std::find_if(users_.begin(), users_.end(), [&](std::int32_t buffer) {
      return offset(buffer) < end && begin < offset(buffer) + bytes(buffer);
    });
  }
  void fail(std::int32_t a, std::int32_t b) {
    const std::size_t i = first_[static_cast<std::size_t>(a)];
    const std::size_t j = first_[static_cast<std::size_t>(b)];
    status_ = bug(fmt::format("buffers {} and {} overlap", std::min(i, j), std::max(i, j)));
  }

  const Timeline& timeline_;
  // For each joined buffer: the first buffer it contains, and the common offset.
  std::vector<std::size_t> first_;
  std::vector<std::int64_t> offset_;
  std::map<std::int64_t, std::int32_t> live_;  // offset -> buffer
  std::vector<std::int32_t> freed_;            // freed by the current branch
  Ranges used_;                                // freed by the step's other branches
  std::vector<std::int32_t> users_;
  Status status_;
};

}  // namespace

Status check_problem(const MemoryProblem& problem, const Steps& steps) {
  IdVector<BranchId, std::int32_t> step_of(problem.branch_length.size(), -1);
  PX_RETURN_IF_ERROR(check_steps(problem, steps, step_of));
  const auto exists = [&](const Position& at) {
    return step_of.contains(at.branch) && at.index >= 0 &&
           at.index < problem.branch_length[at.branch];
  };
  if (problem.buffers.size() >=
      static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    return bug("too many buffers");
  }
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    if (buffer.bytes < 0) return bug(fmt::format("buffer {} has {} bytes", i, buffer.bytes));
    if (!exists(buffer.made)) return bug(fmt::format("buffer {} is made by no node", i));
    for (const Position& read : buffer.reads) {
      if (!exists(read)) return bug(fmt::format("buffer {} is read by no node", i));
      const bool after = read.branch == buffer.made.branch
                             ? read.index >= buffer.made.index
                             : step_of[read.branch] > step_of[buffer.made.branch];
      if (!after) return bug(fmt::format("buffer {} is read before it is made", i));
    }
    for (const std::int32_t over : buffer.over) {
      const auto j = static_cast<std::size_t>(over);
      if (over < 0 || j >= i) return bug(fmt::format("buffer {} lies over a later one", i));
      const auto& reads = problem.buffers[j].reads;
      if (std::find(reads.begin(), reads.end(), buffer.made) == reads.end())
        return bug(fmt::format("buffer {} lies over one that its node does not read", i));
    }
  }
  return {};
}

Status check_offsets(const MemoryProblem& problem, const Steps& steps, const Offsets& offsets) {
  PX_RETURN_IF_ERROR(check_problem(problem, steps));
  if (naive_bytes(problem) == kTooManyBytes) return bug("the sum of all bytes exceeds 63 bits");
  if (offsets.offset.size() != problem.buffers.size()) return bug("not one offset per buffer");
  for (std::size_t i = 0; i < offsets.offset.size(); ++i) {
    const std::int64_t offset = offsets.offset[i];
    if (offset < 0 || offset % kAlignment != 0) {
      return bug(fmt::format("buffer {} lies at {}", i, offset));
    }
    const auto end = checked_add(offset, *checked_align(problem.buffers[i].bytes, kAlignment));
    if (!end || *end > offsets.bytes) {
      return bug(fmt::format("buffer {} leaves the {} bytes of the memory", i, offsets.bytes));
    }
  }
  // A buffer with the offset of one that it may overwrite is joined with it.
  const InPlace in_place = join_in_place(problem, steps, [&](std::size_t a, std::size_t b) {
    return offsets.offset[a] == offsets.offset[b];
  });
  const Timeline timeline = Timeline::make(problem, steps, in_place.joined);
  OverlapFinder finder(timeline, in_place, offsets);
  sweep(timeline, finder);
  return finder.status();
}

}  // namespace parallax
