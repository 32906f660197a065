#include "partition/regions.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace parallax {
namespace {

/// Edges that the searches may look at, per node and edge of the graph. Measured with 100,000 nodes
/// (partition_bench.cc): chains take 6 ms and graphs with edges over up to 8 nodes 14 ms, far below
/// the limit; with edges over any distance, which no model has, the limit at 32 ended the search
/// after 0.28 s.
constexpr std::int64_t kWorkPerEdge = 16;

struct Grouping {
  IdVector<NodeId, GroupId> group_of;
  std::size_t groups = 0;
};

/// How often a path to the node changes, at most, between nodes that can run and that cannot.
IdVector<NodeId, std::int32_t> depths(const Dag& edges, const IdVector<NodeId, bool>& can_run) {
  IdVector<NodeId, std::int32_t> depth(can_run.size(), 0);
  for (const NodeId node : can_run.ids()) {
    for (const NodeId from : edges.predecessors[node]) {
      const int change = can_run[from] == can_run[node] ? 0 : 1;
      depth[node] = std::max(depth[node], depth[from] + change);
    }
  }
  return depth;
}

/// Connected nodes of one depth that can run form a group. Every other edge leads to a higher
/// depth, or to a later node that cannot run; numbering groups by depth, then first node, hence
/// makes edges ascend.
Grouping group_by_depth(const Dag& edges, const IdVector<NodeId, bool>& can_run) {
  const auto depth = depths(edges, can_run);
  IdVector<NodeId, NodeId> first(can_run.size());  // union-find; the root is the lowest node
  const auto find = [&](NodeId node) {
    while (first[node] != node) node = first[node] = first[first[node]];
    return node;
  };
  for (const NodeId node : can_run.ids()) {
    first[node] = node;
    if (!can_run[node]) continue;
    for (const NodeId from : edges.predecessors[node]) {
      if (!can_run[from] || depth[from] != depth[node]) continue;
      const auto [low, high] = std::minmax({find(from), find(node)});
      first[high] = low;
    }
  }
  std::vector<NodeId> roots;
  for (const NodeId node : can_run.ids()) {
    if (find(node) == node) roots.push_back(node);
  }
  std::stable_sort(roots.begin(), roots.end(),
                   [&](NodeId a, NodeId b) { return depth[a] < depth[b]; });
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
                                                  const Quotient& quotient) {
  std::vector<std::pair<GroupId, GroupId>> pairs;
  for (const NodeId node : can_run.ids()) {
    if (!can_run[node]) continue;
    const GroupId group = quotient.group_of(node);
    for (const NodeId from : edges.predecessors[node]) {
      if (!can_run[from] || quotient.group_of(from) == group) continue;
      pairs.emplace_back(quotient.group_of(from), group);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

}  // namespace

Quotient find_candidates(const Dag& edges, const IdVector<NodeId, bool>& can_run) {
  const Grouping grouping = group_by_depth(edges, can_run);
  std::int64_t size = static_cast<std::int64_t>(can_run.size());
  for (const auto& list : edges.successors) size += static_cast<std::int64_t>(list.size());
  Quotient quotient(edges, grouping.group_of, grouping.groups, kWorkPerEdge * (size + 1));
  // A merge that a region forbids may become possible when that region is merged itself: repeat.
  bool merged = true;
  while (merged && !quotient.exhausted()) {
    merged = false;
    for (auto [from, to] : touching(edges, can_run, quotient)) {
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
