// Problems for tests of memory/ and schedule/, and two judges of offsets that share no code with
// the planners: a definition of "may live at once" by happens-before, and an execution that looks
// at the bytes.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "branch/dag_test_util.h"
#include "memory/memory.h"

namespace parallax {

/// Up to three buffers per node of up to 12 cache lines, some empty, some read by nobody.
inline MemoryProblem random_problem(const Dag& dag, const BranchGraph& branches,
                                    RandomDag& random) {
  MemoryProblem problem;
  IdVector<NodeId, Position> position(dag.successors.size());
  for (BranchId branch : branches.branches.ids()) {
    std::int32_t index = 0;
    for (NodeId node : branches.branches[branch]) position[node] = {branch, index++};
    problem.branch_length.push_back(index);
  }
  for (NodeId node : dag.successors.ids()) {
    const std::size_t first = problem.buffers.size();
    const int count = dag.successors[node].empty() ? random.below(2) : 1 + random.below(3);
    for (int i = 0; i < count; ++i) {
      problem.buffers.push_back({random.below(12 * 64), position[node], {}});
      if (random.below(8) == 0) problem.buffers.back().bytes = 0;
    }
    for (NodeId reader : dag.successors[node]) {
      const auto buffer = first + static_cast<std::size_t>(random.below(count));
      problem.buffers[buffer].reads.push_back(position[reader]);
    }
  }
  return problem;
}

/// Layer after layer, each layer's branches shuffled into steps of random size.
inline Steps random_steps(const BranchGraph& branches, RandomDag& random) {
  Steps steps;
  for (std::vector<BranchId> layer : branches.layers) {
    steps.emplace_back();
    while (!layer.empty()) {
      const auto at = layer.begin() + random.below(static_cast<int>(layer.size()));
      if (!steps.back().empty() && random.below(4) == 0) steps.emplace_back();
      steps.back().push_back(*at);
      layer.erase(at);
    }
  }
  return steps;
}

inline Steps one_by_one(const Steps& steps) {
  Steps result;
  for (const auto& step : steps) {
    for (BranchId branch : step) result.push_back({branch});
  }
  return result;
}

/// Whether some execution of `steps` has both buffers alive: neither is done, in every execution,
/// before the other is made.
class HappensBefore {
 public:
  HappensBefore(const MemoryProblem& problem, const Steps& steps)
      : problem_(problem), step_of_(problem.branch_length.size(), 0) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (BranchId branch : steps[i]) step_of_[branch] = i;
    }
  }
  bool may_live_at_once(std::size_t a, std::size_t b) const {
    return !done_before(a, b) && !done_before(b, a);
  }
  /// A pair that may live at once and shares bytes.
  std::optional<std::pair<std::size_t, std::size_t>> overlap(const Offsets& offsets) const {
    for (std::size_t a = 0; a < problem_.buffers.size(); ++a) {
      for (std::size_t b = a + 1; b < problem_.buffers.size(); ++b) {
        const bool apart = offsets.offset[a] + bytes(a) <= offsets.offset[b] ||
                           offsets.offset[b] + bytes(b) <= offsets.offset[a];
        if (bytes(a) > 0 && bytes(b) > 0 && !apart && may_live_at_once(a, b)) return {{a, b}};
      }
    }
    return std::nullopt;
  }

 private:
  std::int64_t bytes(std::size_t i) const {
    return *checked_align(problem_.buffers[i].bytes, kAlignment);
  }
  bool before(const Position& p, const Position& q) const {
    return p.branch == q.branch ? p.index < q.index : step_of_[p.branch] < step_of_[q.branch];
  }
  bool done_before(std::size_t a, std::size_t b) const {
    const Position& made = problem_.buffers[b].made;
    const auto& reads = problem_.buffers[a].reads;
    return before(problem_.buffers[a].made, made) &&
           std::all_of(reads.begin(), reads.end(),
                       [&](const Position& read) { return before(read, made); });
  }

  const MemoryProblem& problem_;
  IdVector<BranchId, std::size_t> step_of_;
};

/// Runs the nodes of every step in a random interleaving of its branches. Each node writes the
/// number of its buffers over their cache lines and then reads what it reads.
class Execution {
 public:
  Execution(const MemoryProblem& problem, const Offsets& offsets)
      : problem_(problem),
        offsets_(offsets),
        lines_(static_cast<std::size_t>(offsets.bytes / kAlignment), kNobody) {}

  /// Whether every node found what was written for it.
  bool run(const Steps& steps, RandomDag& random) {
    for (std::vector<BranchId> running : steps) {
      std::vector<std::int32_t> next(running.size(), 0);
      while (!running.empty()) {
        const auto i = static_cast<std::size_t>(random.below(static_cast<int>(running.size())));
        if (next[i] == problem_.branch_length[running[i]]) {
          running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
          next.erase(next.begin() + static_cast<std::ptrdiff_t>(i));
        } else if (!run_node({running[i], next[i]++})) {
          return false;
        }
      }
    }
    return true;
  }

 private:
  static constexpr std::size_t kNobody = ~std::size_t{0};

  bool run_node(const Position& node) {
    for (std::size_t i = 0; i < problem_.buffers.size(); ++i) {
      if (problem_.buffers[i].made != node) continue;
      for (std::size_t line : lines_of(i)) lines_[line] = i;
    }
    for (std::size_t i = 0; i < problem_.buffers.size(); ++i) {
      const auto& reads = problem_.buffers[i].reads;
      if (problem_.buffers[i].made != node &&
          std::find(reads.begin(), reads.end(), node) == reads.end()) {
        continue;
      }
      for (std::size_t line : lines_of(i)) {
        if (lines_[line] != i) return false;
      }
    }
    return true;
  }
  std::vector<std::size_t> lines_of(std::size_t i) const {
    std::vector<std::size_t> result;
    const std::int64_t begin = offsets_.offset[i], end = begin + problem_.buffers[i].bytes;
    for (std::int64_t at = begin; at < end; at += kAlignment) {
      result.push_back(static_cast<std::size_t>(at / kAlignment));
    }
    return result;
  }

  const MemoryProblem& problem_;
  const Offsets& offsets_;
  std::vector<std::size_t> lines_;
};

}  // namespace parallax
