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

/// Steps, and the layer that each comes from.
struct LayeredSteps {
  Steps steps;
  std::vector<std::int32_t> layer_of_step;

  /// Appends a step.
  void add(std::vector<BranchId> step, std::size_t layer) {
    steps.push_back(std::move(step));
    layer_of_step.push_back(static_cast<std::int32_t>(layer));
  }
};

/// Makes a step of every branch, in the order of ids.
LayeredSteps sequential_steps(const BranchGraph& branches);

/// Makes the steps of layer after layer: its groups, split evenly so that no step has more than
/// `most_branches`, then its remaining branches one by one.
LayeredSteps layer_steps(const std::vector<LayerGroups>& groups, std::size_t most_branches);

/// Splits the steps of `layered` (layer_steps) that do not fit `budget` bytes next to the bytes
/// that stay live across: keeps the branches that options.admission chooses, under kTimeSaved again
/// and again from the remaining ones; the others follow one by one. `peaks`: the peak of each
/// branch's live bytes.
LayeredSteps admit(const LayeredSteps& layered, const BranchGraph& branches,
                   const MemoryProblem& problem, const IdVector<BranchId, std::int64_t>& peaks,
                   const ScheduleOptions& options, std::int64_t budget);

/// Returns the same steps, with those of the chosen layers split into single branches.
LayeredSteps make_sequential(const LayeredSteps& steps, const std::vector<bool>& layers);

/// Returns the same steps in the model's order, as far as dependencies allow: the next step is
/// always the ready one with the lowest branch id. Often keeps fewer bytes live than the order of
/// layers, which starts every branch as early as possible.
LayeredSteps in_model_order(const LayeredSteps& steps, const BranchGraph& branches);

/// Makes every branch of a step wait for all branches of the step before: barriers as edges.
Waits waits_of(const Steps& steps, std::size_t branches);

}  // namespace parallax
