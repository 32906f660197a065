// Graphs for tests of branch/, memory/ and schedule/: literal, and random from a seed.
#pragma once

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "branch/branch.h"

namespace parallax {

/// Makes a graph from the predecessors of each node: numbers below its own, in any order and with
/// repeats.
inline Dag make_dag(std::vector<std::vector<int>> predecessors) {
  Dag dag;
  dag.predecessors.resize(predecessors.size());
  dag.successors.resize(predecessors.size());
  for (NodeId node : dag.predecessors.ids()) {
    auto& list = predecessors[static_cast<std::size_t>(node.value)];
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    for (int p : list) {
      dag.predecessors[node].push_back(NodeId{p});
      dag.successors[NodeId{p}].push_back(node);
    }
  }
  return dag;
}

/// Deterministic for a seed.
class RandomDag {
 public:
  explicit RandomDag(unsigned seed) : random_(seed) {}

  /// Returns a random number from 0 to n-1.
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  /// Returns a graph in which every node has up to three earlier nodes as predecessors, mostly near
  /// ones.
  Dag any(int nodes) {
    std::vector<std::vector<int>> predecessors(static_cast<std::size_t>(nodes));
    for (int i = 1; i < nodes; ++i) {
      for (int k = below(4) == 0 ? below(4) : 1; k > 0; --k) {
        predecessors[static_cast<std::size_t>(i)].push_back(
            i - 1 - below(below(3) == 0 ? i : std::min(i, 4)));
      }
    }
    return make_dag(std::move(predecessors));
  }

  /// Returns a graph of splits and merges nested to `depth`.
  Dag series_parallel(int depth) {
    std::vector<std::vector<int>> predecessors(1);
    grow(predecessors, 0, depth);
    return make_dag(std::move(predecessors));
  }

 private:
  /// Appends a subgraph after node `from`; returns the number of its last node.
  int grow(std::vector<std::vector<int>>& predecessors, int from, int depth) {
    const auto append = [&](std::vector<int> list) {
      predecessors.push_back(std::move(list));
      return static_cast<int>(predecessors.size()) - 1;
    };
    int last = from;
    for (int i = 1 + below(4); i > 0; --i) {
      if (depth == 0 || below(2) == 0) {
        last = append({last});
        continue;
      }
      std::vector<int> ends;
      for (int k = 2 + below(3); k > 0; --k) ends.push_back(grow(predecessors, last, depth - 1));
      if (below(4) == 0) ends.push_back(last);  // a skip connection
      last = append(std::move(ends));
    }
    return last;
  }

  std::mt19937 random_;
};

/// Returns a graph of one of the two kinds, with up to a few dozen nodes.
inline Dag random_dag(unsigned seed) {
  RandomDag random(seed);
  return seed % 2 == 0 ? random.any(1 + random.below(40)) : random.series_parallel(2);
}

}  // namespace parallax
