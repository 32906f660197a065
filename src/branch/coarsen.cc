#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "branch/branch.h"

namespace parallax {
namespace {

/// Units by first node: an order that may not be topological yet.
struct Units {
  std::vector<std::vector<NodeId>> nodes;
  std::vector<RegionId> region;
  IdVector<NodeId, std::size_t> of;
};

Units find_units(const Dag& dag, const IdVector<NodeId, RegionId>& region_of) {
  Units units;
  units.of.resize(dag.predecessors.size());
  IdVector<RegionId, std::int64_t> unit_of_region;
  for (const NodeId node : dag.predecessors.ids()) {
    const RegionId region = region_of.empty() ? RegionId{} : region_of[node];
    std::size_t unit = units.nodes.size();
    if (region.valid()) {
      while (!unit_of_region.contains(region)) unit_of_region.push_back(-1);
      if (unit_of_region[region] >= 0) unit = static_cast<std::size_t>(unit_of_region[region]);
      unit_of_region[region] = static_cast<std::int64_t>(unit);
    }
    if (unit == units.nodes.size()) {
      units.nodes.emplace_back();
      units.region.push_back(region);
    }
    units.nodes[unit].push_back(node);
    units.of[node] = unit;
  }
  return units;
}

/// Returns the successors of each unit, each once.
std::vector<std::vector<std::size_t>> successors_of(const Dag& dag, const Units& units) {
  std::vector<std::vector<std::size_t>> successors(units.nodes.size());
  for (std::size_t unit = 0; unit < successors.size(); ++unit) {
    auto& list = successors[unit];
    for (const NodeId node : units.nodes[unit]) {
      for (const NodeId next : dag.successors[node]) {
        if (units.of[next] != unit) list.push_back(units.of[next]);
      }
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return successors;
}

/// Returns a topological order: of the units that are ready, always the one with the lowest first
/// node. Without regions that is the order of nodes.
std::vector<std::size_t> topological_order(
    const std::vector<std::vector<std::size_t>>& successors) {
  std::vector<std::size_t> waits(successors.size(), 0), order;
  for (const auto& list : successors) {
    for (const std::size_t next : list) ++waits[next];
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t unit = 0; unit < waits.size(); ++unit) {
    if (waits[unit] == 0) ready.push(unit);
  }
  while (!ready.empty()) {
    const std::size_t unit = ready.top();
    ready.pop();
    order.push_back(unit);
    for (const std::size_t next : successors[unit]) {
      if (--waits[next] == 0) ready.push(next);
    }
  }
  return order;
}

}  // namespace

CoarseDag coarsen(const Dag& dag, const IdVector<NodeId, RegionId>& region_of) {
  Units units = find_units(dag, region_of);
  const auto successors = successors_of(dag, units);
  const std::vector<std::size_t> order = topological_order(successors);
  CoarseDag coarse;
  std::vector<UnitId> id_of(units.nodes.size());
  for (const std::size_t unit : order) {
    id_of[unit] = coarse.nodes.push_back(std::move(units.nodes[unit]));
    coarse.region.push_back(units.region[unit]);
    coarse.forced.push_back(units.region[unit].valid() ||
                            dag.is_forced(coarse.nodes[id_of[unit]].front()));
  }
  coarse.predecessors.resize(order.size());
  coarse.successors.resize(order.size());
  for (const std::size_t unit : order) {
    auto& list = coarse.successors[id_of[unit]];
    for (const std::size_t next : successors[unit]) list.push_back(id_of[next]);
    std::sort(list.begin(), list.end());
    for (const UnitId next : list) coarse.predecessors[next].push_back(id_of[unit]);
  }
  return coarse;
}

}  // namespace parallax
