#include "partition/quotient.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace parallax {

/// A breadth-first search in one direction, inside a stretch of the order.
struct Quotient::Search {
  const Lists& edges;
  IdVector<GroupId, std::int64_t>& seen;
  std::int32_t low, high;           // positions of the stretch, inclusive
  std::vector<GroupId> found = {};  // the groups it starts from, then what they reach
  std::size_t start = 0;            // number of the former
  std::size_t group = 0, edge = 0;  // current position
};

Quotient::Quotient(const Dag& edges, const IdVector<NodeId, GroupId>& group_of, std::size_t groups,
                   std::int64_t work_limit)
    : group_of_(group_of),
      parent_(groups),
      members_(groups),
      predecessors_(groups),
      successors_(groups),
      position_(groups),
      in_set_(groups, 0),
      seen_forward_(groups, 0),
      seen_backward_(groups, 0),
      work_limit_(work_limit) {
  for (const GroupId group : parent_.ids()) {
    parent_[group] = group;
    position_[group] = group.value;
  }
  for (const NodeId node : group_of.ids()) {
    const GroupId group = group_of[node];
    members_[group].push_back(node);
    for (const NodeId next : edges.successors[node]) {
      if (group_of[next] != group) successors_[group].push_back(group_of[next]);
    }
  }
  for (const GroupId group : parent_.ids()) {
    auto& list = successors_[group];
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    for (const GroupId next : list) predecessors_[next].push_back(group);
  }
}

GroupId Quotient::find(GroupId group) const {
  while (parent_[group] != group) {
    parent_[group] = parent_[parent_[group]];
    group = parent_[group];
  }
  return group;
}

std::vector<GroupId> Quotient::neighbours(GroupId group) const {
  std::vector<GroupId> result;
  for (const auto* list : {&predecessors_[group], &successors_[group]}) {
    for (const GroupId other : *list) {
      if (find(other) != group) result.push_back(find(other));
    }
  }
  const auto key = [&](GroupId id) { return position_[id]; };
  std::sort(result.begin(), result.end(), [&](GroupId a, GroupId b) { return key(a) < key(b); });
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

Quotient::Progress Quotient::step(Search& search) {
  const auto& edges = search.edges[search.found[search.group]];
  if (search.edge == edges.size()) {
    search.edge = 0;
    return ++search.group == search.found.size() ? Progress::kDone : Progress::kMore;
  }
  ++work_;
  const GroupId next = find(edges[search.edge++]);
  if (in_set_[next] == stamp_) {
    return search.group >= search.start ? Progress::kCameBack : Progress::kMore;
  }
  const std::int32_t position = position_[next];
  if (position < search.low || position > search.high) return Progress::kMore;
  if (std::exchange(search.seen[next], stamp_) != stamp_) search.found.push_back(next);
  return Progress::kMore;
}

bool Quotient::search_both(std::span<const GroupId> groups, Search& forward, Search& backward) {
  ++stamp_;
  std::int32_t low = std::numeric_limits<std::int32_t>::max();
  std::int32_t high = -1;
  for (const GroupId group : groups) {
    in_set_[group] = stamp_;
    low = std::min(low, position_[group]);
    high = std::max(high, position_[group]);
  }
  for (Search* search : {&forward, &backward}) {
    search->found.assign(groups.begin(), groups.end());
    search->start = groups.size();
    search->low = low;
    search->high = high;
  }
  while (!exhausted()) {
    for (Search* search : {&forward, &backward}) {
      const Progress progress = step(*search);
      if (progress != Progress::kMore) return progress == Progress::kDone;
    }
  }
  return false;
}

bool Quotient::convex(std::span<const GroupId> groups) {
  Search forward{successors_, seen_forward_, 0, 0};
  Search backward{predecessors_, seen_backward_, 0, 0};
  return search_both(groups, forward, backward);
}

GroupId Quotient::unite(std::span<const GroupId> groups) {
  const auto weight = [&](GroupId group) {
    return members_[group].size() + predecessors_[group].size() + successors_[group].size();
  };
  // The heaviest swallows the others, so that a list entry moves O(log V) times.
  const GroupId whole = *std::max_element(
      groups.begin(), groups.end(), [&](GroupId a, GroupId b) { return weight(a) < weight(b); });
  for (const GroupId group : groups) {
    if (group == whole) continue;
    parent_[group] = whole;
    const auto append = [&](auto& lists) {
      lists[whole].insert(lists[whole].end(), lists[group].begin(), lists[group].end());
      lists[group] = {};
    };
    append(members_);
    append(predecessors_);
    append(successors_);
  }
  return whole;
}

GroupId Quotient::merge(std::span<const GroupId> groups) {
  Search forward{successors_, seen_forward_, 0, 0};
  Search backward{predecessors_, seen_backward_, 0, 0};
  if (!search_both(groups, forward, backward)) return {};
  for (Search* search : {&forward, &backward}) {
    while (search->group < search->found.size() && !exhausted()) step(*search);
    if (search->group < search->found.size()) return {};
  }
  // Groups that reach the merged ones go before it, groups reached from them after it, in the
  // positions that all of these had.
  const auto by_position = [&](GroupId a, GroupId b) { return position_[a] < position_[b]; };
  const std::vector<GroupId> set(groups.begin(), groups.end());
  const auto start = static_cast<std::ptrdiff_t>(set.size());
  std::vector<GroupId> before(backward.found.begin() + start, backward.found.end());
  std::vector<GroupId> behind(forward.found.begin() + start, forward.found.end());
  std::sort(before.begin(), before.end(), by_position);
  std::sort(behind.begin(), behind.end(), by_position);
  std::vector<std::int32_t> places;
  for (const auto* list : {&std::as_const(before), &set, &std::as_const(behind)}) {
    for (const GroupId group : *list) places.push_back(position_[group]);
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < before.size(); ++i) position_[before[i]] = places[i];
  for (std::size_t i = 0; i < behind.size(); ++i) {
    position_[behind[i]] = places[before.size() + set.size() + i];
  }
  const GroupId whole = unite(set);
  position_[whole] = places[before.size()];
  return whole;
}

}  // namespace parallax
