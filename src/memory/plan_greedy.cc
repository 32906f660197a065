// Implements the baseline: TFLite's greedy-by-size.
#include "memory/conflicts.h"
#include "memory/memory.h"
#include "memory/placer.h"
#include "memory/timeline.h"

namespace parallax {

Offsets plan_greedy(const MemoryProblem& problem, const Steps& steps) {
  Steps sequential;
  for (const auto& step : steps) {
    for (BranchId branch : step) sequential.push_back({branch});
  }
  if (naive_bytes(problem) == kTooManyBytes) return plan_paper(problem, sequential);
  const Timeline timeline = Timeline::make(problem, sequential);
  const auto conflicts = Conflicts::find(timeline, kMaxConflicts);
  if (!conflicts) return plan_paper(problem, sequential);
  return Placer(timeline, *conflicts).place(by_size(timeline), Gap::kSmallest);
}

}  // namespace parallax
