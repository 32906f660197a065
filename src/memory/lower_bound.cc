// Computes sums of live bytes, which are lower bounds for any placement.
#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "memory/in_place.h"
#include "memory/memory.h"
#include "memory/timeline.h"

namespace parallax {
namespace {

/// Highest running sum of live bytes.
struct LiveBytes {
  const Timeline& timeline;
  std::int64_t live = 0;
  std::int64_t peak = 0;

  std::int64_t bytes(std::int32_t buffer) const {
    return timeline.lifetimes[static_cast<std::size_t>(buffer)].bytes;
  }
  void make(std::int32_t buffer) { peak = std::max(peak, live += bytes(buffer)); }
  void free(std::int32_t buffer) { live -= bytes(buffer); }
};

/// Live bytes of each step: those at its start, and the sum over its branches of the maximum that
/// each may add.
struct StepBytes {
  const Timeline& timeline;
  std::vector<std::int64_t> peaks;
  std::int64_t at_start = 0;    ///< live as the step begins
  std::int64_t change = 0;      ///< bytes that the previous branches of the step left behind
  std::int64_t most = 0;        ///< sum of their peaks over at_start
  std::int64_t branch = 0;      ///< live now, of what this branch made, less what it freed
  std::int64_t branch_top = 0;  ///< the most of that

  std::int64_t bytes(std::int32_t buffer) const {
    return timeline.lifetimes[static_cast<std::size_t>(buffer)].bytes;
  }
  void begin_step(std::int32_t) { change = most = branch = branch_top = 0; }
  void make(std::int32_t buffer) { branch_top = std::max(branch_top, branch += bytes(buffer)); }
  void free(std::int32_t buffer) { branch -= bytes(buffer); }
  void end_branch(std::int32_t) {
    most += branch_top;
    change += branch;
    branch = branch_top = 0;
  }
  void end_step() {
    peaks.push_back(at_start + most);
    at_start += change + branch;  // `branch`: what was freed after the last branch
  }
};

Steps one_by_one(const Steps& steps) {
  Steps result;
  for (const auto& step : steps) {
    for (BranchId branch : step) result.push_back({branch});
  }
  return result;
}

}  // namespace

std::int64_t naive_bytes(const MemoryProblem& problem) {
  std::int64_t sum = 0;
  for (const Buffer& buffer : problem.buffers) {
    const auto bytes = checked_align(buffer.bytes, kAlignment);
    const auto next = bytes ? checked_add(sum, *bytes) : std::nullopt;
    if (!next) return kTooManyBytes;
    sum = *next;
  }
  return sum;
}

std::int64_t lower_bound_bytes(const MemoryProblem& problem, const Steps& steps) {
  if (naive_bytes(problem) == kTooManyBytes) return kTooManyBytes;
  const Timeline timeline =
      Timeline::make(problem, steps, join_in_place(problem, one_by_one(steps)).joined);
  LiveBytes live{timeline};
  for (std::int32_t slot = 0; slot < timeline.slots(); ++slot) {
    for (std::int32_t buffer : timeline.made(slot)) live.make(buffer);
    for (std::int32_t buffer : timeline.freed(slot)) live.free(buffer);
  }
  return live.peak;
}

std::vector<std::int64_t> step_peaks(const MemoryProblem& problem, const Steps& steps) {
  if (naive_bytes(problem) == kTooManyBytes) {
    return std::vector<std::int64_t>(steps.size(), kTooManyBytes);
  }
  const Timeline timeline = Timeline::make(problem, steps, join_in_place(problem, steps).joined);
  StepBytes live{timeline, {}};
  sweep(timeline, live);
  return std::move(live.peaks);
}

IdVector<BranchId, std::int64_t> branch_peaks(const MemoryProblem& problem) {
  if (naive_bytes(problem) == kTooManyBytes) {
    return IdVector<BranchId, std::int64_t>(problem.branch_length.size(), kTooManyBytes);
  }
  IdVector<BranchId, std::size_t> begin(problem.branch_length.size());
  std::size_t slots = 0;
  for (BranchId branch : begin.ids()) {
    begin[branch] = slots;
    slots += static_cast<std::size_t>(problem.branch_length[branch]);
  }
  std::vector<std::int64_t> change(slots, 0);
  for (const Buffer& buffer : problem.buffers) {
    const std::int64_t bytes = *checked_align(buffer.bytes, kAlignment);
    const BranchId branch = buffer.made.branch;
    std::int32_t last = buffer.made.index;
    for (const Position& read : buffer.reads) {
      last = read.branch == branch ? std::max(last, read.index) : problem.branch_length[branch];
      if (read.branch != branch) break;
    }
    change[begin[branch] + static_cast<std::size_t>(buffer.made.index)] += bytes;
    if (last + 1 < problem.branch_length[branch]) {
      change[begin[branch] + static_cast<std::size_t>(last) + 1] -= bytes;
    }
  }
  IdVector<BranchId, std::int64_t> peaks(problem.branch_length.size(), 0);
  for (BranchId branch : peaks.ids()) {
    std::int64_t live = 0;
    for (std::int32_t i = 0; i < problem.branch_length[branch]; ++i) {
      live += change[begin[branch] + static_cast<std::size_t>(i)];
      peaks[branch] = std::max(peaks[branch], live);
    }
  }
  return peaks;
}

}  // namespace parallax
