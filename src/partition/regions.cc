#include "partition/regions.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

namespace parallax {
namespace {

/// Edges that the searches may look at, per node and edge of the graph. Measured with 100,000 nodes
/// (partition_bench.cc): chains take 6 ms and graphs with edges over up to 8 nodes 14 ms, far below
/// the limit; with edges over any distance, which no model has, the limit at 32 ended the search
/// after 0.28 s.
constexpr std::int64_t kWorkPerEdge = 16;

/// Device's seconds that a piece of a stage has, at least, so that a region of its own pays.
constexpr double kPieceSeconds = 8e-4;

struct Grouping {
  IdVector<NodeId, GroupId> group_of;
  std::size_t groups = 0;
};

/// Nodes that stay together from the start: a region of another delegate is one unit, as is each
/// other node.
struct Units {
  IdVector<NodeId, NodeId> of;              ///< the first node of its unit
  std::vector<NodeId> order;                ///< units, each after those that it reads
  IdVector<NodeId, std::int32_t> position;  ///< index of a unit in `order`
};

Units find_units(const Dag& edges, const IdVector<NodeId, RegionId>& taken) {
  Units units;
  IdVector<RegionId, NodeId> first;
  IdVector<NodeId, std::vector<NodeId>> members(edges.successors.size());
  for (const NodeId node : members.ids()) {
    NodeId unit = node;
    if (taken.contains(node) && taken[node].valid()) {
      while (!first.contains(taken[node])) first.push_back(NodeId{});
      if (!first[taken[node]].valid()) first[taken[node]] = node;
      unit = first[taken[node]];
    }
    units.of.push_back(unit);
    members[unit].push_back(node);
  }
  IdVector<NodeId, std::int32_t> waits(members.size(), 0);
  for (const NodeId node : members.ids())
    for (const NodeId next : edges.successors[node])
      if (units.of[next] != units.of[node]) ++waits[units.of[next]];
  // Without regions this is the order of the nodes.
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (const NodeId node : members.ids())
    if (units.of[node] == node && waits[node] == 0) ready.push(node);
  units.position = IdVector<NodeId, std::int32_t>(members.size(), 0);
  while (!ready.empty()) {
    const NodeId unit = ready.top();
    ready.pop();
    units.position[unit] = static_cast<std::int32_t>(units.order.size());
    units.order.push_back(unit);
    for (const NodeId node : members[unit])
      for (const NodeId next : edges.successors[node])
        if (units.of[next] != unit && --waits[units.of[next]] == 0) ready.push(units.of[next]);
  }
  return units;
}

int stage_of(const IdVector<NodeId, CoNode>& co, NodeId node) {
  return co.empty() ? 0 : co[node].stage;
}

/// Returns how often a path to the unit changes, at most, between units that can run and units that
/// cannot. The count starts again in each stage.
IdVector<NodeId, std::int32_t> depths(const Dag& edges, const IdVector<NodeId, bool>& can_run,
                                      const Units& units, const IdVector<NodeId, CoNode>& co) {
  IdVector<NodeId, std::vector<NodeId>> predecessors(can_run.size());
  for (const NodeId node : can_run.ids())
    for (const NodeId from : edges.predecessors[node])
      if (units.of[from] != units.of[node]) predecessors[units.of[node]].push_back(units.of[from]);
  IdVector<NodeId, std::int32_t> depth(can_run.size(), 0);
  for (const NodeId unit : units.order) {
    for (const NodeId from : predecessors[unit]) {
      if (stage_of(co, from) != stage_of(co, unit)) continue;
      const int change = can_run[from] == can_run[unit] ? 0 : 1;
      depth[unit] = std::max(depth[unit], depth[from] + change);
    }
  }
  return depth;
}

/// Returns for each node of the device's side the last node that it waits for, directly or through
/// others of its side with an equal key. Nodes that only move rows are skipped.
template <class Key>
IdVector<NodeId, NodeId> last_awaited(const Dag& edges, const IdVector<NodeId, CoNode>& co,
                                      Key key) {
  IdVector<NodeId, NodeId> maker(co.size()), awaited(co.size());
  for (const NodeId node : co.ids()) {
    const bool moves = !co[node].origin.valid() && !edges.predecessors[node].empty();
    if (!moves) maker[node] = node;
    const bool device = co[node].side == CoSide::kDevice;
    for (const NodeId from : edges.predecessors[node]) {
      if (moves) maker[node] = std::max(maker[node], maker[from]);
      const bool together = device && co[from].side == CoSide::kDevice && key(from) == key(node);
      if (device) awaited[node] = std::max(awaited[node], together ? awaited[from] : maker[from]);
    }
  }
  return awaited;
}

/// Divides the device's nodes of a stage and depth into pieces, each named by one of its nodes: a
/// piece that waits for less than the rest starts before it, if it has enough work.
template <class Key>
IdVector<NodeId, NodeId> device_pieces(const Dag& edges, const IdVector<NodeId, bool>& can_run,
                                       const IdVector<NodeId, CoNode>& co, Key key) {
  IdVector<NodeId, NodeId> piece(co.size());
  const IdVector<NodeId, NodeId> awaited = last_awaited(edges, co, key);
  std::map<std::pair<int, std::int32_t>, std::map<NodeId, std::vector<NodeId>>> by_start;
  for (const NodeId node : co.ids())
    if (can_run[node] && co[node].side == CoSide::kDevice)
      by_start[key(node)][awaited[node]].push_back(node);
  for (const auto& [same_key, starts] : by_start) {
    NodeId name;
    double seconds = 0;
    for (const auto& [start, nodes] : starts) {
      if (seconds >= kPieceSeconds) name = {}, seconds = 0;
      for (const NodeId node : nodes) {
        if (!name.valid()) name = node;
        piece[node] = name;
        seconds += co[node].seconds;
      }
    }
  }
  return piece;
}

/// Connected nodes of one stage and depth that can run form a group. Every other edge leads to a
/// higher stage or depth, or to a later unit that cannot run; numbering groups by stage, depth,
/// then unit, hence makes edges ascend.
Grouping group_by_depth(const Dag& edges, const IdVector<NodeId, bool>& can_run,
                        const IdVector<NodeId, RegionId>& taken,
                        const IdVector<NodeId, CoNode>& co) {
  const Units units = find_units(edges, taken);
  const auto depth = depths(edges, can_run, units, co);
  const auto key = [&](NodeId node) { return std::pair(stage_of(co, node), depth[node]); };
  IdVector<NodeId, NodeId> first = units.of;  // union-find; the root is the lowest node
  const auto find = [&](NodeId node) {
    while (first[node] != node) node = first[node] = first[first[node]];
    return node;
  };
  const auto unite = [&](NodeId a, NodeId b) {
    const auto [low, high] = std::minmax({find(a), find(b)});
    first[high] = low;
  };
  const IdVector<NodeId, NodeId> piece = device_pieces(edges, can_run, co, key);
  const auto alone = [&](NodeId node) { return piece.contains(node) && piece[node].valid(); };
  for (const NodeId node : can_run.ids()) {
    if (!can_run[node]) continue;
    if (alone(node)) {
      unite(piece[node], node);
      continue;
    }
    for (const NodeId from : edges.predecessors[node])
      if (can_run[from] && !alone(from) && key(from) == key(node)) unite(from, node);
  }
  std::vector<NodeId> roots;
  for (const NodeId node : can_run.ids()) {
    if (find(node) == node) roots.push_back(node);
  }
  const auto order = [&](NodeId root) {
    return std::tuple(key(root), alone(root), alone(root) ? piece[root].value : 0,
                      units.position[root]);
  };
  std::stable_sort(roots.begin(), roots.end(),
                   [&](NodeId a, NodeId b) { return order(a) < order(b); });
  Grouping result{IdVector<NodeId, GroupId>(can_run.size()), roots.size()};
  for (std::size_t i = 0; i < roots.size(); ++i) {
    result.group_of[roots[i]] = GroupId{static_cast<std::int32_t>(i)};
  }
  for (const NodeId node : can_run.ids()) result.group_of[node] = result.group_of[find(node)];
  return result;
}

/// Pairs of groups that can run with an edge between them, each once.
std::vector<std::pair<GroupId, GroupId>> touching(const Dag& edges,
                                                  const IdVector<NodeId, bool>& can_run,
                                                  const IdVector<NodeId, CoNode>& co,
                                                  const Quotient& quotient) {
  const auto alone = [&](NodeId node) { return !co.empty() && co[node].side == CoSide::kDevice; };
  std::vector<std::pair<GroupId, GroupId>> pairs;
  for (const NodeId node : can_run.ids()) {
    if (!can_run[node]) continue;
    const GroupId group = quotient.group_of(node);
    for (const NodeId from : edges.predecessors[node]) {
      if (!can_run[from] || quotient.group_of(from) == group) continue;
      if (stage_of(co, from) != stage_of(co, node) || alone(from) || alone(node)) continue;
      pairs.emplace_back(quotient.group_of(from), group);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

}  // namespace

Quotient find_candidates(const Dag& edges, const IdVector<NodeId, bool>& can_run,
                         const IdVector<NodeId, RegionId>& taken,
                         const IdVector<NodeId, CoNode>& co) {
  const Grouping grouping = group_by_depth(edges, can_run, taken, co);
  std::int64_t size = static_cast<std::int64_t>(can_run.size());
  for (const auto& list : edges.successors) size += static_cast<std::int64_t>(list.size());
  Quotient quotient(edges, grouping.group_of, grouping.groups, kWorkPerEdge * (size + 1));
  // A merge that a region forbids may become possible when that region is merged itself: repeat.
  bool merged = true;
  while (merged && !quotient.exhausted()) {
    merged = false;
    for (auto [from, to] : touching(edges, can_run, co, quotient)) {
      // Members keep their group's name: the groups may have been merged since.
      from = quotient.find(from);
      to = quotient.find(to);
      if (from == to) continue;
      merged |= quotient.merge(std::array{from, to}).valid();
    }
  }
  return quotient;
}

}  // namespace parallax
