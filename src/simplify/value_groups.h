// Groups of values that a pass rewrites together, collected from one of them.
#pragma once

#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ops/op.h"
#include "simplify/rewrite.h"

namespace parallax {

/// Collects groups of a graph's values that are made of each other and read by each other. Each
/// value joins one group, so that all groups together take time linear in the graph.
/// The graph keeps its nodes while groups are collected. Not thread-safe.
class ValueGroups {
 public:
  explicit ValueGroups(const Graph& graph)
      : graph_(graph),
        readers_(consumers(graph)),
        is_output_(graph.values.size(), false),
        group_of_(graph.values.size(), 0) {
    for (const ValueId output : graph.outputs) is_output_[output] = true;
  }

  /// Collects the group of `first`, which is in no group yet: `fits(value)` adds the values around
  /// one, and returns whether it can be rewritten. Returns whether all of them can.
  template <typename Fits>
  bool collect(ValueId first, Fits fits) {
    ++number_;
    values_.clear();
    bool good = add(first);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const bool one = fits(values_[i]);
      good = good && one;  // the rest is visited all the same: it starts no group of its own
    }
    return good;
  }

  /// Adds a value to the group. Returns false if it is in another one.
  bool add(ValueId value) {
    if (group_of_[value] != 0) return group_of_[value] == number_;
    group_of_[value] = number_;
    values_.push_back(value);
    return true;
  }

  /// Whether some group has the value.
  bool has(ValueId value) const { return group_of_[value] != 0; }
  /// Whether the group that was collected last has the value.
  bool is_in_last(ValueId value) const { return group_of_[value] == number_; }
  /// The group that was collected last.
  const std::vector<ValueId>& values() const { return values_; }
  const std::vector<NodeId>& readers(ValueId value) const { return readers_[value]; }

  /// The node whose result only nodes of the graph read; nullptr if the value is an input, a
  /// constant or an output of the graph.
  const Node* maker(ValueId id) const {
    const Value& value = graph_.values[id];
    if (value.kind != ValueKind::kResult || is_output_[id]) return nullptr;
    return &graph_.nodes[value.producer];
  }

 private:
  const Graph& graph_;
  IdVector<ValueId, std::vector<NodeId>> readers_;
  IdVector<ValueId, bool> is_output_;
  IdVector<ValueId, int> group_of_;  ///< number of each value's group; 0: not in one yet
  int number_ = 0;
  std::vector<ValueId> values_;
};

}  // namespace parallax
