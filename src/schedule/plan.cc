#include "schedule/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/byte_text.h"
#include "base/checked.h"
#include "base/status.h"
#include "schedule/steps.h"
#include "schedule/waits.h"

namespace parallax {
namespace {

/// Limits of a search under a budget: on plans, and on buffers times plans.
constexpr std::size_t kMaxPlans = 16;
constexpr std::size_t kMaxPlannedBuffers = 400'000;
/// Shares of kPlanEffort: for the sequential order, for the final choice, for all tries in between.
constexpr std::int64_t kSequentialEffort = kPlanEffort * 2 / 5;
constexpr std::int64_t kChosenEffort = kPlanEffort * 2 / 5;
constexpr std::int64_t kTryEffort =
    (kPlanEffort - kSequentialEffort - kChosenEffort) / static_cast<std::int64_t>(kMaxPlans);

tl::unexpected<Error> failure(ErrorCode code, std::string message) {
  return tl::unexpected(Error{Stage::kSchedule, code, {}, std::move(message)});
}

struct Candidate {
  LayeredSteps steps;
  Offsets offsets;
};

Candidate place(const MemoryProblem& problem, LayeredSteps steps, std::int64_t effort) {
  Offsets offsets = plan_steps(problem, steps.steps, effort);
  return {std::move(steps), std::move(offsets)};
}

std::int64_t most(const std::vector<std::int64_t>& peaks) {
  return peaks.empty() ? 0 : *std::max_element(peaks.begin(), peaks.end());
}

/// Returns the order with the lower peak of live bytes; the first if they are equal.
LayeredSteps better(const MemoryProblem& problem, LayeredSteps a, LayeredSteps b) {
  const bool first = most(step_peaks(problem, a.steps)) <= most(step_peaks(problem, b.steps));
  return first ? std::move(a) : std::move(b);
}

Status check_arguments(const BranchGraph& branches, const LayeredSteps& sequential,
                       const LayeredSteps& layered, const MemoryProblem& problem,
                       const ScheduleOptions& options) {
  const auto fits_branches = [&](const IdVector<BranchId, double>& times) {
    return times.empty() || times.size() == branches.branches.size();
  };
  if (problem.branch_length.size() != branches.branches.size() || options.threads < 1 ||
      options.scratch_per_thread < 0 || !fits_branches(options.work) ||
      !fits_branches(options.work_alone) || (options.work.empty() && !options.work_alone.empty())) {
    return failure(ErrorCode::kInternal, "the problem is not that of these branches");
  }
  PX_RETURN_IF_ERROR(check_problem(problem, sequential.steps));
  PX_RETURN_IF_ERROR(check_problem(problem, layered.steps));
  if (naive_bytes(problem) == kTooManyBytes) {
    return failure(ErrorCode::kBudgetExceeded,
                   "the bytes of all tensors together do not fit 63 bits");
  }
  return {};
}

/// Returns the limit on the arena in bytes; nullopt if there is no limit.
Result<std::optional<std::int64_t>> arena_budget(const ScheduleOptions& options,
                                                 std::int64_t sequential_bytes) {
  const auto scratch = checked_mul(options.scratch_per_thread, options.threads);
  const auto needed = scratch ? checked_add(*scratch, sequential_bytes) : std::nullopt;
  if (!needed) return failure(ErrorCode::kBudgetExceeded, "kernel scratch does not fit 63 bits");
  if (!options.budget) return std::optional<std::int64_t>{};
  const std::int64_t budget = std::max<std::int64_t>(*options.budget, 0);
  if (*needed > budget) {
    return failure(ErrorCode::kBudgetExceeded,
                   fmt::format("needs {}, budget {}: {} missing", byte_text(*needed),
                               byte_text(budget), byte_text(*needed - budget)));
  }
  return std::optional(budget - *scratch);
}

/// Returns the layers with a step of several branches, largest demand first.
std::vector<std::size_t> parallel_layers(const LayeredSteps& steps,
                                         const std::vector<std::int64_t>& peaks,
                                         std::size_t layers) {
  std::vector<std::int64_t> demand(layers, -1);
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    auto& most_of_layer = demand[static_cast<std::size_t>(steps.layer_of_step[i])];
    if (steps.steps[i].size() > 1) most_of_layer = std::max(most_of_layer, peaks[i]);
  }
  std::vector<std::size_t> order(layers);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t layer) { return demand[layer] < 0; });
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return demand[a] > demand[b]; });
  return order;
}

/// Returns the plan that fits and keeps the most layers parallel; `sequential` fits. Splitting a
/// layer into single branches does not change the demand of other layers, so the number of layers
/// to split, fullest first, is found by binary search.
Candidate fit(const BranchGraph& branches, const LayeredSteps& layered,
              const MemoryProblem& problem, const IdVector<BranchId, std::int64_t>& peaks,
              const ScheduleOptions& options, std::int64_t budget, Candidate sequential) {
  const LayeredSteps admitted = admit(layered, branches, problem, peaks, options, budget);
  const auto order =
      parallel_layers(admitted, step_peaks(problem, admitted.steps), branches.layers.size());
  std::size_t plans =
      std::clamp<std::size_t>(kMaxPlannedBuffers / (problem.buffers.size() + 1), 2, kMaxPlans);
  Candidate best = std::move(sequential);
  std::size_t low = 0, high = order.size();  // with `high` layers split it fits, or `best` is used
  std::size_t taken = 0;
  while (low < high && plans > 0) {
    std::vector<bool> apart(branches.layers.size(), false);
    for (std::size_t i = 0; i < taken; ++i) apart[order[i]] = true;
    LayeredSteps steps = make_sequential(admitted, apart);
    steps = better(problem, steps, in_model_order(steps, branches));
    bool fits = most(step_peaks(problem, steps.steps)) <= budget;
    if (fits) {
      --plans;
      Candidate candidate = place(problem, std::move(steps), kTryEffort);
      fits = candidate.offsets.bytes <= budget;
      if (fits) best = std::move(candidate);
    }
    (fits ? high : low) = fits ? taken : taken + 1;
    taken = low + (high - low) / 2;
  }
  return best;
}

/// Places branches in the order of ids or of layers, whichever has fewer live bytes; in the order
/// of ids if that of layers needs more than `greedy` needs for the former.
Candidate place_sequential(const BranchGraph& branches, const MemoryProblem& problem,
                           const LayeredSteps& in_order, const LayeredSteps& layered,
                           std::int64_t greedy) {
  const std::vector<bool> all_layers(branches.layers.size(), true);
  Candidate chosen = place(problem, better(problem, in_order, make_sequential(layered, all_layers)),
                           kSequentialEffort);
  if (chosen.offsets.bytes <= greedy || chosen.steps.steps == in_order.steps) return chosen;
  Candidate other = place(problem, in_order, kSequentialEffort);
  return other.offsets.bytes < chosen.offsets.bytes ? std::move(other) : std::move(chosen);
}

/// Whether running the branches of each step concurrently saves much of the predicted time.
bool saves_time(const BranchGraph& branches, const LayeredSteps& layered,
                const ScheduleOptions& options) {
  const auto& alone = options.work_alone;
  if (alone.empty()) return true;
  double saved = 0;
  for (const auto& step : layered.steps) {
    if (step.size() < 2) continue;
    double one_by_one = 0, threads = 0, delegate = 0;
    for (BranchId branch : step) {
      one_by_one += alone[branch];
      (branches.region[branch].valid() ? delegate : threads) += options.work[branch];
    }
    saved += one_by_one - std::max(threads / options.threads, delegate);
  }
  return saved >= kWorthTime * std::accumulate(alone.begin(), alone.end(), 0.0);
}

/// Returns the bytes to which the arena may grow in order to run branches concurrently.
std::int64_t worth_of(const BranchGraph& branches, const LayeredSteps& layered,
                      const ScheduleOptions& options, std::int64_t greedy) {
  if (saves_time(branches, layered, options)) return kTooManyBytes;
  const double bytes = static_cast<double>(greedy) * (1 + kBytesPerThread * (options.threads - 1));
  return bytes < 9e18 ? std::max(greedy, static_cast<std::int64_t>(bytes)) : kTooManyBytes;
}

/// Returns as much of `layered` as needs at most `limit` bytes; `sequential` if no part of it does.
Candidate place_parallel(const BranchGraph& branches, const MemoryProblem& problem,
                         const LayeredSteps& layered, const Plan& plan,
                         const ScheduleOptions& options, std::int64_t limit, Candidate sequential) {
  LayeredSteps steps = better(problem, layered, in_model_order(layered, branches));
  if (most(step_peaks(problem, steps.steps)) <= limit) {
    Candidate parallel = place(problem, std::move(steps), kChosenEffort);
    // As without a limit (choose): a limit with room for that plan must not alter it.
    if (parallel.offsets.bytes > plan.figures.paper) parallel = place(problem, layered, 0);
    if (parallel.offsets.bytes <= limit) return parallel;
  }
  Candidate chosen =
      fit(branches, layered, problem, plan.branch_peaks, options, limit, std::move(sequential));
  if (chosen.offsets.bytes <= most(step_peaks(problem, chosen.steps.steps))) return chosen;
  Candidate again = place(problem, chosen.steps, kChosenEffort);
  return again.offsets.bytes < chosen.offsets.bytes ? std::move(again) : std::move(chosen);
}

bool same_but_for_sizes(const MemoryProblem& a, const MemoryProblem& b) {
  const auto same = [](const Buffer& x, const Buffer& y) {
    return x.made == y.made && x.reads == y.reads;
  };
  return std::equal(a.branch_length.begin(), a.branch_length.end(), b.branch_length.begin(),
                    b.branch_length.end()) &&
         std::equal(a.buffers.begin(), a.buffers.end(), b.buffers.begin(), b.buffers.end(), same);
}

/// Returns the lower bound of two orders: that of the one that needs less.
std::int64_t lower_bound(const MemoryProblem& problem, const LayeredSteps& in_order,
                         const LayeredSteps& layered) {
  return std::min(lower_bound_bytes(problem, in_order.steps),
                  lower_bound_bytes(problem, layered.steps));
}

/// Places the steps of options.like; nullopt if they are not good enough (see make_plan).
std::optional<Candidate> place_like(const MemoryProblem& problem, const ScheduleOptions& options,
                                    const LayeredSteps& in_order, const LayeredSteps& layered) {
  if (options.like == nullptr || !same_but_for_sizes(problem, options.like->problem)) return {};
  const Plan& like = options.like->plan;
  if (!like.explained || !check_problem(problem, like.steps)) return {};
  auto offsets = plan_like(problem, like.steps, like.offsets);
  if (!offsets) return {};
  const std::int64_t bound = lower_bound(problem, in_order, layered);
  const double known =
      static_cast<double>(like.offsets.bytes) * static_cast<double>(bound) * kLikeSlack;
  if (static_cast<double>(offsets->bytes) * static_cast<double>(like.figures.lower_bound) > known)
    return {};
  // The paper's placement never needs less than the bound.
  if (offsets->bytes > bound && offsets->bytes > plan_paper(problem, layered.steps).bytes)
    return {};
  const auto budget = arena_budget(options, offsets->bytes);
  if (!budget) return {};
  return Candidate{{like.steps, like.layer_of_step}, *std::move(offsets)};
}

/// Chooses the steps and their placement. Errors: kBudgetExceeded.
Result<Candidate> choose(const BranchGraph& branches, const MemoryProblem& problem,
                         const ScheduleOptions& options, const LayeredSteps& in_order,
                         const LayeredSteps& layered, const Plan& plan) {
  const ArenaFigures& figures = plan.figures;
  Candidate chosen = place_sequential(branches, problem, in_order, layered, figures.greedy);
  PX_ASSIGN(const auto budget, arena_budget(options, chosen.offsets.bytes));
  if (options.parallel) {
    const std::int64_t worth = worth_of(branches, layered, options, figures.greedy);
    chosen = place_parallel(branches, problem, layered, plan, options,
                            std::min(budget.value_or(worth), worth), std::move(chosen));
  }
  if (chosen.offsets.bytes > figures.paper) {
    // Everything that the paper's steps allow is safe in any order that follows them.
    chosen = place(problem, layered, 0);
    const std::vector<bool> all_layers(branches.layers.size(), true);
    if (!options.parallel) chosen.steps = make_sequential(layered, all_layers);
  }
  return chosen;
}

void count_parallel(Plan& plan, std::size_t layers) {
  std::vector<bool> parallel(layers, false);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const auto size = static_cast<int>(plan.steps[i].size());
    plan.max_branches = std::max(plan.max_branches, size);
    if (size > 1) parallel[static_cast<std::size_t>(plan.layer_of_step[i])] = true;
  }
  plan.parallel_layers = static_cast<int>(std::count(parallel.begin(), parallel.end(), true));
}

/// Does the work of make_plan() for one problem, without relaxing it.
Result<Plan> plan_as_given(const BranchGraph& branches, const std::vector<LayerGroups>& groups,
                           const MemoryProblem& problem, const ScheduleOptions& options) {
  if (groups.size() != branches.layers.size()) {
    return failure(ErrorCode::kInternal, "not one set of groups per layer");
  }
  const auto most_branches =
      static_cast<std::size_t>(std::int64_t{kBranchesPerThread} * std::max(options.threads, 1));
  const LayeredSteps in_order = sequential_steps(branches);
  const LayeredSteps layered = layer_steps(groups, most_branches);
  PX_RETURN_IF_ERROR(check_arguments(branches, in_order, layered, problem, options));

  auto chosen = place_like(problem, options, in_order, layered);
  Plan plan;
  plan.explained = !chosen || options.explain;
  if (plan.explained) {
    plan.branch_peaks = branch_peaks(problem);
    plan.figures.naive = naive_bytes(problem);
    plan.figures.greedy = plan_greedy(problem, in_order.steps).bytes;
    plan.figures.paper = plan_paper(problem, layered.steps).bytes;
    plan.figures.lower_bound = lower_bound(problem, in_order, layered);
  }
  if (!chosen) {
    PX_ASSIGN(chosen, choose(branches, problem, options, in_order, layered, plan));
  }
  PX_ASSIGN(plan.arena_budget, arena_budget(options, chosen->offsets.bytes));
  plan.steps = std::move(chosen->steps.steps);
  plan.layer_of_step = std::move(chosen->steps.layer_of_step);
  plan.offsets = std::move(chosen->offsets);
  plan.waits = make_waits(branches, problem, plan.steps, plan.offsets);
  plan.figures.parallax = plan.offsets.bytes;
  if (plan.explained) {
    plan.concurrency =
        explain_concurrency(groups, layered.steps, plan.steps, problem,
                            {options.parallel, plan.arena_budget,
                             worth_of(branches, layered, options, plan.figures.greedy)});
    plan.figures.lower_bound =
        std::min(plan.figures.lower_bound, lower_bound_bytes(problem, plan.steps));
  }
  count_parallel(plan, branches.layers.size());
  return plan;
}

}  // namespace

Result<Plan> make_plan(const BranchGraph& branches, const std::vector<LayerGroups>& groups,
                       const MemoryProblem& problem, const ScheduleOptions& options) {
  auto plan = plan_as_given(branches, groups, problem, options);
  if (plan || problem.concurrent.empty() || plan.error().code != ErrorCode::kBudgetExceeded)
    return plan;
  MemoryProblem without = problem;
  without.concurrent = {};
  return plan_as_given(branches, groups, without, options);
}

}  // namespace parallax
