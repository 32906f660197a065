// The plan of one binding of the symbols: what runs when, and where its bytes lie.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "branch/branch.h"
#include "memory/memory.h"
#include "parallax/options.h"
#include "schedule/concurrency.h"

namespace parallax {

/// The five figures of design.md 3, in bytes; each includes alignment, none includes kernel
/// scratch.
struct ArenaFigures {
  std::int64_t naive = 0;
  std::int64_t greedy = 0;
  std::int64_t lower_bound = 0;  ///< of the orders considered, whichever needs least
  std::int64_t paper = 0;
  std::int64_t parallax = 0;  ///< what this plan really takes
};

struct Plan;
/// A plan made before for the same branches and options, whose steps and order of offsets may serve
/// again: what takes long is then done once for a model.
struct PlanPattern {
  const Plan& plan;
  const MemoryProblem& problem;
};

struct ScheduleOptions {
  bool parallel = true;  ///< false: every branch is a step of its own
  int threads = 1;
  std::optional<std::int64_t> budget;  ///< bytes for arena and scratch together; nothing: no limit
  std::int64_t scratch_per_thread = 0;
  Admission admission = Admission::kTimeSaved;
  /// Predicted time of each branch, in any unit; empty: all take the same.
  IdVector<BranchId, double> work = {};
  /// The same with its nodes cut into tiles and all threads at them: what is left of it beside
  /// `work` over the threads is what running it beside others may save. Empty: as `work`.
  IdVector<BranchId, double> work_alone = {};
  const PlanPattern* like = nullptr;
  /// False: what only reports read may be left out (Plan::explained).
  bool explain = true;
};

struct Plan {
  Steps steps;
  std::vector<std::int32_t> layer_of_step;
  /// A branch may start when all of these are done, whatever step they are in: data dependencies
  /// and what `offsets` need. Every execution that obeys it is safe, that of `steps` among them; no
  /// cycles.
  Waits waits;
  Offsets offsets;  ///< of the problem's buffers
  /// Whether there are all figures, branch_peaks and concurrency; of the figures else parallax
  /// only.
  bool explained = false;
  ArenaFigures figures;
  IdVector<BranchId, std::int64_t> branch_peaks;
  IdVector<BranchId, Concurrency> concurrency;  ///< why a branch has its step for itself
  /// What the arena may take; nothing: no limit.
  std::optional<std::int64_t> arena_budget;
  /// Layers in which at least two branches run at once, and the most that do.
  int parallel_layers = 0;
  int max_branches = 1;
};

/// A step has at most this many branches per thread: more of them would take memory, not time.
inline constexpr int kBranchesPerThread = 2;

/// How much more above the lower bound a plan like another may lie.
inline constexpr double kLikeSlack = 1.02;

/// Running branches at once may cost this part of the bytes of greedy for each thread but the
/// first, unless it saves at least kWorthTime of the predicted time: branches that would cost more
/// run one after the other, each node on all threads.
inline constexpr double kBytesPerThread = 0.05;
inline constexpr double kWorthTime = 0.05;

/// Within each layer the groups of `refine` run at once as far as the budget allows: of each group
/// the subset that `admission` picks (schedule/admission.h) whose peaks fit beside what is live
/// across; under kPaper the rest follows one by one, under kTimeSaved it is offered again. If the
/// offsets still do not fit, layers are made sequential, those with the largest demand first, until
/// they do. Steps follow the layers or, where that keeps less alive, the order of branch ids as far
/// as dependencies allow: layer_of_step need not ascend.
///
/// Where `like` is a plan of buffers that differ in their sizes only, its steps serve again with
/// offsets in the same order, unless they take more than the paper's way, or more above the lower
/// bound than they did (kLikeSlack), or do not fit the budget: about a tenth of the time, and less
/// where nothing is to be explained.
///
/// Where the budget has no room for problem.beside, branches wait for each other's bytes as if it
/// were empty.
///
/// Promise: offsets.bytes plus the scratch of all threads fits the budget, and a plan is found
/// exactly if running one branch after the other fits. Errors (stage kSchedule): kBudgetExceeded,
/// naming the bytes that are missing even then, or where sums do not fit 63 bits; kInternal where
/// the arguments do not belong together. Deterministic; close to O(V+E).
Result<Plan> make_plan(const BranchGraph& branches, const std::vector<LayerGroups>& groups,
                       const MemoryProblem& problem, const ScheduleOptions& options);

}  // namespace parallax
