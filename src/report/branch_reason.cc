#include "report/branch_reason.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace parallax {
namespace {

/// The most branches for which the line of a layer gives a reason; the others are counted.
constexpr std::size_t kMaxNamed = 8;

std::string refined_by_paper(const Compiled& compiled, BranchId id) {
  const auto nodes = compiled.context->branches.branches[id].size();
  if (nodes <= kMinBranchNodes)
    return fmt::format("alone: N = {} <= {} keeps its layer sequential", nodes, kMinBranchNodes);
  return fmt::format("alone: some branch of its layer has N <= {}, or F differs more than {} times",
                     kMinBranchNodes, kBalance);
}

/// Explains why refinement groups the branch with no other.
std::string refined(const Compiled& compiled, BranchId id, std::size_t layer,
                    Refinement refinement) {
  if (compiled.context->branches.layers[layer].size() == 1)
    return "alone: the only branch of its layer";
  if (refinement == Refinement::kPaper) return refined_by_paper(compiled, id);
  const double seconds = compiled.work[id];
  if (seconds <= kSyncSeconds) {
    return fmt::format("alone: its {:.3g} us are not worth a hand-over, {:.3g} us", seconds * 1e6,
                       kSyncSeconds * 1e6);
  }
  return fmt::format("alone: no other branch of its layer is within {} times its {:.3g} ms",
                     kBalance, seconds * 1e3);
}

std::string over_budget(const Program& program, const Concurrency& branch) {
  // Scratch counts against the budget too, and does not depend on which branches run concurrently.
  const std::int64_t scratch = program.bytes - program.arena_bytes - program.staged_bytes;
  const std::int64_t arena = program.plan.arena_budget.value_or(0);
  if (branch.why == Alone::kPlacement) {
    return fmt::format(
        "waits: its group in parallel needs {}, but no order of all layers with it fits the budget "
        "of "
        "{}",
        format_bytes(branch.group_bytes + scratch), format_bytes(arena + scratch));
  }
  return fmt::format("waits: {} over the budget of {}", format_bytes(branch.group_bytes - arena),
                     format_bytes(arena + scratch));
}

}  // namespace

std::string branch_reason(const Program& program, BranchId id, int layer,
                          const std::vector<BranchId>& step, Refinement refinement) {
  const Compiled& compiled = program.compiled();
  const Concurrency& branch = program.plan.concurrency[id];
  switch (branch.why) {
    case Alone::kNot:
      break;
    case Alone::kRefined:
      return refined(compiled, id, static_cast<std::size_t>(layer), refinement);
    case Alone::kScheduler:
      return "alone: the scheduler runs one branch after the other";
    case Alone::kThreads:
      return fmt::format("waits: its layer has more branches than {} for each thread",
                         kBranchesPerThread);
    case Alone::kBudget:
    case Alone::kPlacement:
      return over_budget(program, branch);
    case Alone::kBytes:
      return fmt::format(
          "waits: its group in parallel keeps {} alive; the arena stays at {}, because running "
          "branches "
          "in parallel saves less than {} % of the time",
          format_bytes(branch.group_bytes), format_bytes(program.plan.figures.parallax),
          kWorthTime * 100);
  }
  std::vector<int> others;
  for (const BranchId other : step) {
    if (other != id) others.push_back(other.value);
  }
  std::sort(others.begin(), others.end());
  return fmt::format("runs in parallel with {} {}", others.size() == 1 ? "branch" : "branches",
                     fmt::join(others, ", "));
}

std::string layer_reason(const std::vector<const BranchReport*>& branches) {
  std::size_t parallel = 0;
  for (const BranchReport* branch : branches) parallel += branch->parallel ? 1 : 0;
  if (branches.size() == 1) return "1 branch";
  std::string text = parallel == 0
                         ? fmt::format("{} branches, one after the other", branches.size())
                         : fmt::format("{} of {} branches in parallel", parallel, branches.size());
  std::size_t named = 0;
  for (const BranchReport* branch : branches) {
    if (branch->parallel) continue;
    if (++named <= kMaxNamed) text += fmt::format("; branch {} {}", branch->id, branch->reason);
  }
  if (named > kMaxNamed) text += fmt::format("; and {} more", named - kMaxNamed);
  return text;
}

}  // namespace parallax
