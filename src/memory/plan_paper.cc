// Replays the paper's arenas at planning time: computes where their bump pointers and free lists
// would put every buffer. All arenas grow in one address range, so that a block passed to another
// arena merges with its neighbours, whichever arena had them before.
#include <algorithm>

#include "memory/free_list.h"
#include "memory/memory.h"
#include "memory/timeline.h"

namespace parallax {
namespace {

class Arenas {
 public:
  explicit Arenas(const Timeline& timeline) : timeline_(timeline) {
    offsets_.offset.assign(timeline.lifetimes.size(), 0);
  }

  void begin_step(std::int32_t) {}
  void make(std::int32_t buffer) { offsets_.offset[index(buffer)] = allocate(bytes(buffer)); }
  void free(std::int32_t buffer) { own_.add(offsets_.offset[index(buffer)], bytes(buffer)); }
  /// Other branches of the same step cannot reuse blocks that this branch freed.
  void end_branch(std::int32_t) { own_.hand_over(freed_in_step_); }
  void end_step() {
    own_.hand_over(freed_in_step_);
    freed_in_step_.hand_over(pool_);
  }

  Offsets take() && { return std::move(offsets_); }

 private:
  static std::size_t index(std::int32_t buffer) { return static_cast<std::size_t>(buffer); }
  std::int64_t bytes(std::int32_t buffer) const { return timeline_.lifetimes[index(buffer)].bytes; }

  std::int64_t allocate(std::int64_t bytes) {
    if (const auto offset = own_.take(bytes)) return *offset;
    if (const auto offset = pool_.take(bytes)) return *offset;
    // The bump pointer starts at a free block that reaches the end, if there is one.
    auto offset = own_.take_ending_at(offsets_.bytes);
    if (!offset) offset = pool_.take_ending_at(offsets_.bytes);
    const std::int64_t begin = offset.value_or(offsets_.bytes);
    offsets_.bytes = begin + bytes;
    return begin;
  }

  const Timeline& timeline_;
  Offsets offsets_;
  FreeList own_;            // freed by the branch at hand
  FreeList freed_in_step_;  // freed by the step's other branches
  FreeList pool_;           // freed in earlier steps
};

}  // namespace

Offsets plan_paper(const MemoryProblem& problem, const Steps& steps) {
  if (naive_bytes(problem) == kTooManyBytes) {
    return {std::vector<std::int64_t>(problem.buffers.size(), 0), kTooManyBytes};
  }
  // Branches of a step claim blocks in turn: the largest first, which are the hardest to place.
  const auto peaks = branch_peaks(problem);
  Steps ordered = steps;
  for (auto& step : ordered) {
    std::stable_sort(step.begin(), step.end(),
                     [&](BranchId a, BranchId b) { return peaks[a] > peaks[b]; });
  }
  const Timeline timeline = Timeline::make(problem, ordered);
  Arenas arenas(timeline);
  sweep(timeline, arenas);
  return std::move(arenas).take();
}

}  // namespace parallax
