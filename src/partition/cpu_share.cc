#include "partition/cpu_share.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace parallax {

IdVector<NodeId, NodeId> computed_by(const Graph& canonical, const Graph& lowered) {
  std::unordered_map<std::string_view, NodeId> by_name, by_further_result;
  for (const NodeId id : lowered.nodes.ids()) {
    const Node& node = lowered.nodes[id];
    by_name.emplace(node.name, id);
    if (node.op != OpKind::kElementwiseChain) continue;
    for (const ValueId output : node.outputs)
      if (output.valid()) by_further_result.emplace(lowered.values[output].name, id);
  }
  const auto readers = consumers(canonical);
  IdVector<NodeId, NodeId> result(canonical.nodes.size());
  for (auto i = static_cast<std::int32_t>(canonical.nodes.size()) - 1; i >= 0; --i) {
    const NodeId id{i};
    const Node& node = canonical.nodes[id];
    const auto same = by_name.find(node.name);
    if (same != by_name.end()) {
      result[id] = same->second;
      continue;
    }
    for (const ValueId output : node.outputs) {
      if (!output.valid() || result[id].valid()) continue;
      const auto further = by_further_result.find(canonical.values[output].name);
      if (further != by_further_result.end()) {
        result[id] = further->second;
      } else if (!readers[output].empty()) {
        result[id] = result[readers[output].front()];
      }
    }
  }
  return result;
}

IdVector<NodeId, double> shared_out(const IdVector<NodeId, double>& alone,
                                    const IdVector<NodeId, double>& lowered,
                                    const IdVector<NodeId, NodeId>& computed_by) {
  struct Whole {
    double seconds = 0;  ///< sum of all parts, each alone
    int parts = 0;
  };
  std::unordered_map<std::int32_t, Whole> wholes;
  for (const NodeId id : computed_by.ids()) {
    if (!computed_by[id].valid()) continue;
    Whole& whole = wholes[computed_by[id].value];
    whole.seconds += alone[id];
    ++whole.parts;
  }
  IdVector<NodeId, double> result(computed_by.size(), 0.0);
  for (const NodeId id : computed_by.ids()) {
    if (!computed_by[id].valid()) continue;
    const Whole& whole = wholes[computed_by[id].value];
    const double share = whole.seconds > 0 ? alone[id] / whole.seconds : 1.0 / whole.parts;
    result[id] = share * lowered[computed_by[id]];
  }
  return result;
}

IdVector<NodeId, double> cpu_seconds(const Pricer& canonical, const Pricer& lowered,
                                     const IdVector<NodeId, NodeId>& computed_by) {
  IdVector<NodeId, double> alone(computed_by.size(), 0.0);
  IdVector<NodeId, double> wholes;
  for (const NodeId id : computed_by.ids()) {
    alone[id] = canonical.node_cost(id).cpu_seconds;
    const NodeId by = computed_by[id];
    if (!by.valid()) continue;
    wholes.resize(std::max(wholes.size(), static_cast<std::size_t>(by.value) + 1));
    wholes[by] = lowered.node_cost(by).cpu_seconds;
  }
  return shared_out(alone, wholes, computed_by);
}

}  // namespace parallax
