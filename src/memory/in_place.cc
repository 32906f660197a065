#include "memory/in_place.h"

#include <algorithm>

namespace parallax {
namespace {

/// Returns whether `made`, the node that overwrites `buffer`, is the last of its readers.
bool read_last_by(const MemoryProblem& problem, const Buffer& buffer, const Position& made,
                  const IdVector<BranchId, std::int32_t>& step_of) {
  return std::all_of(buffer.reads.begin(), buffer.reads.end(), [&](const Position& read) {
    if (problem.concurrent.contains(read.branch) &&
        std::ranges::binary_search(problem.concurrent[read.branch], made.branch))
      return false;
    if (read.branch == made.branch) return read.index <= made.index;
    return step_of[read.branch] < step_of[made.branch];
  });
}

}  // namespace

MemoryProblem InPlace::problem(const MemoryProblem& original) const {
  MemoryProblem result{original.branch_length, {}, original.concurrent};
  result.buffers.reserve(buffers);
  for (std::size_t i = 0; i < joined.size(); ++i) {
    const Buffer& buffer = original.buffers[i];
    const auto place = static_cast<std::size_t>(joined[i]);
    if (place == result.buffers.size()) {
      result.buffers.push_back({buffer.bytes, buffer.made, buffer.reads, {}});
    } else {
      auto& reads = result.buffers[place].reads;
      reads.insert(reads.end(), buffer.reads.begin(), buffer.reads.end());
    }
  }
  return result;
}

Offsets InPlace::split(const Offsets& offsets) const {
  Offsets result;
  result.bytes = offsets.bytes;
  result.offset.reserve(joined.size());
  for (std::int32_t i : joined)
    result.offset.push_back(offsets.offset[static_cast<std::size_t>(i)]);
  return result;
}

InPlace join_in_place(const MemoryProblem& problem, const Steps& steps,
                      const std::function<bool(std::size_t, std::size_t)>& wanted) {
  IdVector<BranchId, std::int32_t> step_of(problem.branch_length.size(), 0);
  for (std::size_t step = 0; step < steps.size(); ++step) {
    for (BranchId branch : steps[step]) step_of[branch] = static_cast<std::int32_t>(step);
  }
  InPlace result;
  result.joined.reserve(problem.buffers.size());
  std::vector<bool> taken(problem.buffers.size(), false);
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    std::size_t place = i;
    for (const std::int32_t other : buffer.over) {
      const auto j = static_cast<std::size_t>(other);
      const bool fits = !taken[j] && problem.buffers[j].bytes == buffer.bytes &&
                        (place == i || j > place) && (!wanted || wanted(i, j)) &&
                        read_last_by(problem, problem.buffers[j], buffer.made, step_of);
      if (fits) place = j;
    }
    if (place == i) {
      result.joined.push_back(static_cast<std::int32_t>(result.buffers++));
    } else {
      taken[place] = true;
      result.joined.push_back(result.joined[place]);
    }
  }
  return result;
}

}  // namespace parallax
