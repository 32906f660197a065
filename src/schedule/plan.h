// The plan of one binding of the symbols: the order of branches, and the places of their tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "branch/branch.h"
#include "memory/memory.h"
#include "parallax/options.h"
#include "schedule/concurrency.h"

namespace parallax {

/// The sizes of five placements (docs/architecture.md), in bytes. Each includes alignment, but not
/// kernel scratch.
struct ArenaFigures {
  std::int64_t naive = 0;        ///< a buffer for every tensor
  std::int64_t greedy = 0;       ///< largest first into the first gap, in the sequential order
  std::int64_t lower_bound = 0;  ///< the bound of the order that needs least of those considered
  std::int64_t paper = 0;        ///< an arena per branch
  std::int64_t parallax = 0;     ///< the arena of this plan
};

struct Plan;
/// An earlier plan for the same branches and options, whose steps and order of offsets may be
/// reused: the slow part of planning is then done once for a model.
struct PlanPattern {
  const Plan& plan;
  const MemoryProblem& problem;
};

/// Options of make_plan().
struct ScheduleOptions {
  bool parallel = true;                 ///< false: every branch is a step of its own
  int threads = 1;                      ///< threads of a run, its caller's included
  std::optional<std::int64_t> budget;   ///< bytes for arena and scratch together; nullopt: no limit
  std::int64_t scratch_per_thread = 0;  ///< bytes of kernel scratch
  Admission admission = Admission::kTimeSaved;
  /// Predicted time of each branch on one thread, in any unit; empty: all are equal.
  IdVector<BranchId, double> work = {};
  /// Predicted time of each branch when it runs alone and all threads share its tiles. Its excess
  /// over `work` divided by the threads is the time that running it with others may save. Empty: as
  /// `work`.
  IdVector<BranchId, double> work_alone = {};
  const PlanPattern* like = nullptr;  ///< null: no earlier plan
  /// False: parts that only reports read may be omitted (Plan::explained).
  bool explain = true;
};

/// The order and the memory of the branches of one binding.
struct Plan {
  Steps steps;                              ///< groups of branches that may run concurrently
  std::vector<std::int32_t> layer_of_step;  ///< the layer that each step comes from
  /// The branches that must be done before a branch starts, whatever step they are in: data
  /// dependencies, and the last users of the bytes that it overwrites. Every execution that obeys
  /// them is safe, also that of `steps`; there are no cycles.
  Waits waits;
  Offsets offsets;  ///< offsets of the problem's buffers in the arena
  /// Whether all figures, branch_peaks and concurrency are set; if not, only figures.parallax is.
  bool explained = false;
  ArenaFigures figures;
  IdVector<BranchId, std::int64_t> branch_peaks;  ///< the peak of each branch's live bytes
  IdVector<BranchId, Concurrency> concurrency;    ///< why a branch has its step for itself
  /// Limit on the arena in bytes; nullopt: no limit.
  std::optional<std::int64_t> arena_budget;
  /// Number of layers in which at least two branches run concurrently, and the most that do.
  int parallel_layers = 0;
  int max_branches = 1;
};

/// A step has at most this many branches per thread: more would cost memory and save no time.
inline constexpr int kBranchesPerThread = 2;

/// The factor by which a plan like another may exceed the lower bound more than that one does.
inline constexpr double kLikeSlack = 1.02;

/// Running branches concurrently may cost this share of the bytes of `greedy` for each thread after
/// the first, unless it saves at least kWorthTime of the predicted time. Branches that would cost
/// more run one after the other, each node on all threads.
inline constexpr double kBytesPerThread = 0.05;
inline constexpr double kWorthTime = 0.05;

/// Makes a plan. Within each layer the groups of `refine` run concurrently to the extent that the
/// budget allows: of each group the subset that `admission` chooses (schedule/admission.h) whose
/// peaks fit next to the bytes that stay live; under kPaper the remaining branches follow one by
/// one, under kTimeSaved they are considered again. If the offsets still do not fit, layers are
/// made sequential, those with the largest demand first, until they do. Steps follow the layers or,
/// if that keeps fewer bytes live, the order of branch ids wherever dependencies allow:
/// layer_of_step need not ascend.
///
/// If the buffers of `like` differ only in their sizes, its steps are reused with offsets in the
/// same order, unless these exceed the paper's placement, or the lower bound by more than they did
/// (kLikeSlack), or the budget. This needs about a tenth of the time, and less without `explain`.
///
/// If the budget has no room for the buffers that stay live for branches that should be able to run
/// meanwhile, branches wait for each other's bytes.
///
/// Guarantee: offsets.bytes plus the scratch of all threads fits the budget, and a plan is found
/// exactly if running one branch after the other fits. Errors (stage kSchedule): kBudgetExceeded,
/// which says how many bytes are missing even then, also for sums that exceed 63 bits; kInternal if
/// the arguments do not belong together. Deterministic; close to O(V+E).
Result<Plan> make_plan(const BranchGraph& branches, const std::vector<LayerGroups>& groups,
                       const MemoryProblem& problem, const ScheduleOptions& options);

}  // namespace parallax
