// Orders of branches as steps, each with the layer it comes from. Internal to schedule/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "branch/branch.h"
#include "memory/memory.h"
#include "schedule/plan.h"

namespace parallax {

struct LayeredSteps {
  Steps steps;
  std::vector<std::int32_t> layer_of_step;

  void add(std::vector<BranchId> step, std::size_t layer) {
    steps.push_back(std::move(step));
    layer_of_step.push_back(static_cast<std::int32_t>(layer));
  }
};

/// Every branch a step of its own, in the order of ids.
LayeredSteps sequential_steps(const BranchGraph& branches);

/// Layer after layer: the groups of each, cut evenly so that no step has more than `most_branches`,
/// then what is left of it one by one.
LayeredSteps layer_steps(const std::vector<LayerGroups>& groups, std::size_t most_branches);

/// Of each step of `layered` (layer_steps) the branches that options.admission picks, under
/// kTimeSaved again of what is left, as far as they fit `budget` bytes beside what is live across;
/// the others follow one by one.
LayeredSteps admit(const LayeredSteps& layered, const BranchGraph& branches,
                   const MemoryProblem& problem, const IdVector<BranchId, std::int64_t>& peaks,
                   const ScheduleOptions& options, std::int64_t budget);

/// The same steps, those of the chosen layers taken apart into single branches.
LayeredSteps make_sequential(const LayeredSteps& steps, const std::vector<bool>& layers);

/// The same steps in the order in which the model names them, as far as dependencies allow: each
/// time the step with the lowest branch id of those that are ready. Often keeps less alive than
/// layer order, which starts every branch as early as it can.
LayeredSteps in_model_order(const LayeredSteps& steps, const BranchGraph& branches);

/// Every branch of a step waits for all of the step before: the barriers, written as edges.
Waits waits_of(const Steps& steps, std::size_t branches);

}  // namespace parallax
