#include "schedule/steps.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "base/checked.h"
#include "schedule/admission.h"

namespace parallax {
namespace {

std::int64_t rounded(const Buffer& buffer) {
  return checked_align(buffer.bytes, kAlignment).value_or(kTooManyBytes);
}

IdVector<BranchId, std::size_t> layers_of(const BranchGraph& branches) {
  IdVector<BranchId, std::size_t> layer_of(branches.branches.size(), 0);
  for (std::size_t layer = 0; layer < branches.layers.size(); ++layer) {
    for (BranchId branch : branches.layers[layer]) layer_of[branch] = layer;
  }
  return layer_of;
}

/// Bytes that stay live across a layer, and bytes that each branch leaves behind.
struct LiveAcross {
  std::vector<std::int64_t> layer;  ///< bytes made before the layer and read in or after it
  IdVector<BranchId, std::int64_t> escapes;  ///< bytes that other branches read
};

LiveAcross live_across(const BranchGraph& branches, const MemoryProblem& problem) {
  const auto layer_of = layers_of(branches);
  LiveAcross live;
  live.layer.assign(branches.layers.size() + 1, 0);
  live.escapes = IdVector<BranchId, std::int64_t>(branches.branches.size(), 0);
  for (const Buffer& buffer : problem.buffers) {
    const std::size_t made = layer_of[buffer.made.branch];
    std::size_t last = made;
    for (const Position& read : buffer.reads) last = std::max(last, layer_of[read.branch]);
    if (last == made) continue;
    live.escapes[buffer.made.branch] += rounded(buffer);
    live.layer[made + 1] += rounded(buffer);
    if (last + 1 < live.layer.size()) live.layer[last + 1] -= rounded(buffer);
  }
  for (std::size_t i = 1; i < live.layer.size(); ++i) live.layer[i] += live.layer[i - 1];
  return live;
}

/// Moves the branches that run concurrently in `room` bytes out of `left`.
std::vector<BranchId> take_subset(std::vector<BranchId>& left,
                                  const IdVector<BranchId, std::int64_t>& peaks,
                                  const ScheduleOptions& options, std::int64_t room) {
  std::vector<BranchCost> candidates;
  for (BranchId branch : left)
    candidates.push_back({peaks[branch], options.work.empty() ? 1 : options.work[branch]});
  std::vector<BranchId> taken, rest;
  auto next = std::vector<std::size_t>{};
  if (room > 0) next = admit_subset(candidates, room, options.threads, options.admission);
  auto chosen = next.begin();
  for (std::size_t i = 0; i < left.size(); ++i) {
    const bool take = chosen != next.end() && *chosen == i;
    (take ? taken : rest).push_back(left[i]);
    if (take) ++chosen;
  }
  left = std::move(rest);
  return taken;
}

}  // namespace

LayeredSteps sequential_steps(const BranchGraph& branches) {
  const auto layer_of = layers_of(branches);
  LayeredSteps result;
  for (BranchId branch : branches.branches.ids()) result.add({branch}, layer_of[branch]);
  return result;
}

LayeredSteps layer_steps(const std::vector<LayerGroups>& groups, std::size_t most_branches) {
  LayeredSteps result;
  for (std::size_t layer = 0; layer < groups.size(); ++layer) {
    for (const auto& group : groups[layer].parallel) {
      const std::size_t parts = (group.size() + most_branches - 1) / most_branches;
      for (std::size_t part = 0; part < parts; ++part) {
        const auto at = [&](std::size_t i) {
          return group.begin() + static_cast<std::ptrdiff_t>(i * group.size() / parts);
        };
        result.add({at(part), at(part + 1)}, layer);
      }
    }
    for (BranchId branch : groups[layer].sequential) result.add({branch}, layer);
  }
  return result;
}

LayeredSteps admit(const LayeredSteps& layered, const BranchGraph& branches,
                   const MemoryProblem& problem, const IdVector<BranchId, std::int64_t>& peaks,
                   const ScheduleOptions& options, std::int64_t budget) {
  const LiveAcross live = live_across(branches, problem);
  LayeredSteps result;
  std::int32_t layer = -1;
  std::int64_t across = 0;
  for (std::size_t i = 0; i < layered.steps.size(); ++i) {
    if (layered.layer_of_step[i] != layer) {
      layer = layered.layer_of_step[i];
      across = live.layer[static_cast<std::size_t>(layer)];
    }
    const auto add = [&](std::vector<BranchId> step) {
      for (BranchId branch : step) across += live.escapes[branch];
      result.add(std::move(step), static_cast<std::size_t>(layer));
    };
    std::vector<BranchId> left = layered.steps[i];
    do {
      std::vector<BranchId> step = take_subset(left, peaks, options, budget - across);
      if (step.size() < 2) {
        left.insert(left.begin(), step.begin(), step.end());
        break;
      }
      add(std::move(step));
    } while (options.admission == Admission::kTimeSaved && left.size() > 1);
    for (BranchId branch : left) add({branch});
  }
  return result;
}

LayeredSteps make_sequential(const LayeredSteps& steps, const std::vector<bool>& layers) {
  LayeredSteps result;
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const auto layer = static_cast<std::size_t>(steps.layer_of_step[i]);
    if (!layers[layer]) {
      result.add(steps.steps[i], layer);
      continue;
    }
    for (BranchId branch : steps.steps[i]) result.add({branch}, layer);
  }
  return result;
}

LayeredSteps in_model_order(const LayeredSteps& steps, const BranchGraph& branches) {
  IdVector<BranchId, std::size_t> step_of(branches.branches.size(), 0);
  std::vector<std::int32_t> lowest_branch;
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    for (BranchId branch : steps.steps[i]) step_of[branch] = i;
    lowest_branch.push_back(std::min_element(steps.steps[i].begin(), steps.steps[i].end())->value);
  }
  std::vector<std::size_t> waits(steps.steps.size(), 0);
  using Ready = std::pair<std::int32_t, std::size_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    for (BranchId branch : steps.steps[i]) waits[i] += branches.predecessors[branch].size();
    if (waits[i] == 0) ready.emplace(lowest_branch[i], i);
  }
  LayeredSteps result;
  while (!ready.empty()) {
    const std::size_t i = ready.top().second;
    ready.pop();
    result.add(steps.steps[i], static_cast<std::size_t>(steps.layer_of_step[i]));
    for (BranchId branch : steps.steps[i]) {
      for (BranchId successor : branches.successors[branch]) {
        const std::size_t next = step_of[successor];
        if (--waits[next] == 0) ready.emplace(lowest_branch[next], next);
      }
    }
  }
  return result;
}

Waits waits_of(const Steps& steps, std::size_t branches) {
  Waits waits(branches);
  for (std::size_t i = 1; i < steps.size(); ++i)
    for (BranchId branch : steps[i]) waits[branch] = steps[i - 1];
  return waits;
}

}  // namespace parallax
