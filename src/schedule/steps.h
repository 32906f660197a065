// Orders branches into steps, and records the layer that each step comes from. Internal to
// schedule/. Thread-safety: pure functions; call them from any thread.
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

/// Makes, layer by layer, a step of each group, then one of each branch without a group. Splits
/// groups evenly into steps of at most `most_branches`. REQUIRES: most_branches > 0.
LayeredSteps layer_steps(const std::vector<LayerGroups>& groups, std::size_t most_branches);

/// Splits each step of `layered` (layer_steps) whose branches do not fit `budget` bytes together
/// with the bytes that stay live across the step. Keeps the set of branches that options.admission
/// chooses in one step; under kTimeSaved, chooses further sets from the rest while any of two or
/// more fits. Adds the rest one by one, also a branch that does not fit alone. `peaks`: the peak of
/// each branch's live bytes.
LayeredSteps admit(const LayeredSteps& layered, const BranchGraph& branches,
                   const MemoryProblem& problem, const IdVector<BranchId, std::int64_t>& peaks,
                   const ScheduleOptions& options, std::int64_t budget);

/// Splits the steps of each layer i with layers[i] into single branches, in the order of ids.
LayeredSteps make_sequential(const LayeredSteps& steps, const std::vector<bool>& layers);

/// Returns the same steps in the model's order, wherever dependencies allow: the next step is
/// always the ready one with the lowest branch id. Often keeps fewer bytes live than the order of
/// layers, which starts every branch as early as possible.
LayeredSteps in_model_order(const LayeredSteps& steps, const BranchGraph& branches);

/// Returns for each of `branches` branches the ones that it waits for: all of the step before.
Waits waits_of(const Steps& steps, std::size_t branches);

}  // namespace parallax
