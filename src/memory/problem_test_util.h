// Problems for tests of memory/ and schedule/, and two checks of offsets that share no code with
// the planners: a definition of "may live at the same time" by happens-before, and an execution
// that checks the bytes. Both accept an order of branches as steps with barriers or as waits.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "branch/dag_test_util.h"
#include "memory/memory.h"

namespace parallax {

/// Allows the buffers from `first` on to overwrite some that their node reads.
inline void overwrite_some(MemoryProblem& problem, std::size_t first, RandomDag& random) {
  for (std::size_t i = first; i < problem.buffers.size(); ++i) {
    for (std::size_t j = 0; j < first; ++j) {
      const auto& reads = problem.buffers[j].reads;
      const bool read =
          std::find(reads.begin(), reads.end(), problem.buffers[i].made) != reads.end();
      if (!read || random.below(3) == 0) continue;
      if (random.below(4) > 0) problem.buffers[i].bytes = problem.buffers[j].bytes;
      problem.buffers[i].over.push_back(static_cast<std::int32_t>(j));
    }
  }
}

/// Converts `steps` to waits: every branch waits for all branches of the previous step.
inline Waits waits_of_steps(const Steps& steps, std::size_t branches) {
  Waits waits(branches);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    for (BranchId branch : steps[i]) waits[branch] = steps[i - 1];
  }
  return waits;
}

/// Up to three buffers per node of up to 12 cache lines, some empty, some never read, some of
/// the size of one that their node reads and may overwrite.
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
    overwrite_some(problem, first, random);
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

/// Whether some execution has both buffers alive: neither is done, in every execution, before the
/// other is made.
class HappensBefore {
 public:
  HappensBefore(const MemoryProblem& problem, const Waits& waits)
      : problem_(problem), after_(waits.size(), std::vector<bool>(waits.size(), false)) {
    for (BranchId branch : waits.ids()) {
      // Everything that can be reached from `branch` by going from waiting to waited for.
      std::vector<BranchId> open = waits[branch];
      while (!open.empty()) {
        const BranchId at = open.back();
        open.pop_back();
        if (after_[branch][static_cast<std::size_t>(at.value)]) continue;
        after_[branch][static_cast<std::size_t>(at.value)] = true;
        open.insert(open.end(), waits[at].begin(), waits[at].end());
      }
    }
  }
  HappensBefore(const MemoryProblem& problem, const Steps& steps)
      : HappensBefore(problem, waits_of_steps(steps, problem.branch_length.size())) {}

  bool before(BranchId a, BranchId b) const { return after_[b][static_cast<std::size_t>(a.value)]; }
  bool may_live_together(std::size_t a, std::size_t b) const {
    return !done_before(a, b) && !done_before(b, a);
  }
  /// Returns whether the node that makes `b` overwrites `a`, which no other node reads then or
  /// later.
  bool may_overwrite(std::size_t a, std::size_t b) const {
    const auto& over = problem_.buffers[b].over;
    return std::find(over.begin(), over.end(), static_cast<std::int32_t>(a)) != over.end() &&
           problem_.buffers[a].bytes == problem_.buffers[b].bytes &&
           done_but_for(a, problem_.buffers[b].made, true);
  }
  /// Returns a pair of buffers that may live at the same time and share bytes, unless one may
  /// overwrite the other.
  std::optional<std::pair<std::size_t, std::size_t>> overlap(const Offsets& offsets) const {
    for (std::size_t a = 0; a < problem_.buffers.size(); ++a) {
      for (std::size_t b = a + 1; b < problem_.buffers.size(); ++b) {
        const bool apart = offsets.offset[a] + bytes(a) <= offsets.offset[b] ||
                           offsets.offset[b] + bytes(b) <= offsets.offset[a];
        if (bytes(a) == 0 || bytes(b) == 0 || apart || !may_live_together(a, b)) continue;
        if (offsets.offset[a] != offsets.offset[b] || !may_overwrite(a, b)) return {{a, b}};
      }
    }
    return std::nullopt;
  }

 private:
  std::int64_t bytes(std::size_t i) const {
    return *checked_align(problem_.buffers[i].bytes, kAlignment);
  }
  bool before(const Position& p, const Position& q) const {
    return p.branch == q.branch ? p.index < q.index : before(p.branch, q.branch);
  }
  /// Returns whether all users of `a` are done before `node`, which may be one of them if `but`.
  bool done_but_for(std::size_t a, const Position& node, bool but) const {
    const auto& reads = problem_.buffers[a].reads;
    return before(problem_.buffers[a].made, node) &&
           std::all_of(reads.begin(), reads.end(), [&](const Position& read) {
             return (but && read == node) || before(read, node);
           });
  }
  bool done_before(std::size_t a, std::size_t b) const {
    return done_but_for(a, problem_.buffers[b].made, false);
  }

  const MemoryProblem& problem_;
  IdVector<BranchId, std::vector<bool>> after_;
};

/// Runs nodes in a random interleaving of the branches that may run. Each node reads what it may
/// overwrite, writes the number of its buffers over their cache lines, and then reads the rest of
/// what it reads.
class Execution {
 public:
  Execution(const MemoryProblem& problem, const Offsets& offsets)
      : problem_(problem),
        offsets_(offsets),
        lines_(static_cast<std::size_t>(offsets.bytes / kAlignment), kNobody) {}

  /// Returns whether every node read the data that was written for it; false if some branch can
  /// never start.
  bool run(const Waits& waits, RandomDag& random) {
    IdVector<BranchId, std::size_t> left(waits.size(), 0);
    IdVector<BranchId, std::vector<BranchId>> next(waits.size());
    std::vector<BranchId> running;
    for (BranchId branch : waits.ids()) {
      left[branch] = waits[branch].size();
      for (BranchId before : waits[branch]) next[before].push_back(branch);
      if (left[branch] == 0) running.push_back(branch);
    }
    std::size_t done = 0;
    for (IdVector<BranchId, std::int32_t> at(waits.size(), 0); !running.empty();) {
      const auto i = static_cast<std::size_t>(random.below(static_cast<int>(running.size())));
      const BranchId branch = running[i];
      if (at[branch] < problem_.branch_length[branch]) {
        if (!run_node({branch, at[branch]++})) return false;
        continue;
      }
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      ++done;
      for (BranchId after : next[branch]) {
        if (--left[after] == 0) running.push_back(after);
      }
    }
    return done == waits.size();
  }
  bool run(const Steps& steps, RandomDag& random) {
    return run(waits_of_steps(steps, problem_.branch_length.size()), random);
  }

 private:
  static constexpr std::size_t kNobody = ~std::size_t{0};

  bool run_node(const Position& node) {
    std::vector<std::size_t> made, read;
    for (std::size_t i = 0; i < problem_.buffers.size(); ++i) {
      const auto& reads = problem_.buffers[i].reads;
      if (problem_.buffers[i].made == node) made.push_back(i);
      if (std::find(reads.begin(), reads.end(), node) != reads.end()) read.push_back(i);
    }
    std::vector<std::size_t> after = made;
    for (std::size_t i : read) {
      const bool overwritten = std::any_of(made.begin(), made.end(), [&](std::size_t m) {
        const auto& over = problem_.buffers[m].over;
        return offsets_.offset[m] == offsets_.offset[i] &&
               problem_.buffers[m].bytes == problem_.buffers[i].bytes &&
               std::find(over.begin(), over.end(), static_cast<std::int32_t>(i)) != over.end();
      });
      if (overwritten && !holds(i)) return false;
      if (!overwritten) after.push_back(i);
    }
    for (std::size_t i : made) {
      for (std::size_t line : lines_of(i)) lines_[line] = i;
    }
    return std::all_of(after.begin(), after.end(), [&](std::size_t i) { return holds(i); });
  }
  bool holds(std::size_t i) const {
    const auto lines = lines_of(i);
    return std::all_of(lines.begin(), lines.end(),
                       [&](std::size_t line) { return lines_[line] == i; });
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
