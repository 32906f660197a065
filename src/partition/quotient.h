// A graph whose nodes are divided into groups such that the graph of groups has no cycles: then no
// path leaves a group and returns to it, and a group can run as one unit. Groups are merged one set
// at a time; a topological order of the groups is maintained, so that a search never leaves the
// range of the order that a merge concerns.
//
//     0 -> 1 -> 2       {0, 2} may not be merged: the path over 1 leaves and comes back.
//     0 ------> 2       {0, 1} may, and then {0, 1} with {2}.
//
// Thread-compatible. Internal to partition/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"
#include "ir/dag.h"

namespace parallax {

using GroupId = Id<struct GroupTag>;

class Quotient {
 public:
  /// REQUIRES: every edge leads to the same or a higher group; every group below `groups` has a
  /// node. All searches together inspect at most `work_limit` edges: unfinished ones count as not
  /// mergeable, so that no graph, however contrived, is slow.
  Quotient(const Dag& edges, const IdVector<NodeId, GroupId>& group_of, std::size_t groups,
           std::int64_t work_limit);

  /// Return the group of a node, and the nodes of a group.
  GroupId group_of(NodeId node) const { return find(group_of_[node]); }
  /// Returns the group into which `group`, an earlier id, was merged.
  GroupId find(GroupId group) const;
  const std::vector<NodeId>& members(GroupId group) const { return members_[group]; }
  /// Returns the groups with an edge to or from `group`, in topological order, each once.
  std::vector<GroupId> neighbours(GroupId group) const;

  /// Returns whether no path leaves the union of `groups` (distinct) and returns to it.
  bool convex(std::span<const GroupId> groups);
  /// Merges `groups` if they are convex. Returns the merged group; invalid if they are not.
  GroupId merge(std::span<const GroupId> groups);
  /// Returns whether the work limit was reached.
  bool exhausted() const { return work_ >= work_limit_; }

 private:
  using Lists = IdVector<GroupId, std::vector<GroupId>>;
  struct Search;
  enum class Progress : std::uint8_t { kMore, kDone, kCameBack };

  /// Inspects one more edge.
  Progress step(Search& search);
  /// Searches from `groups` along and against the edges, alternately, until one search knows the
  /// answer.
  bool search_both(std::span<const GroupId> groups, Search& forward, Search& backward);
  GroupId unite(std::span<const GroupId> groups);

  IdVector<NodeId, GroupId> group_of_;
  mutable IdVector<GroupId, GroupId> parent_;  // union-find, compressed when read
  IdVector<GroupId, std::vector<NodeId>> members_;
  Lists predecessors_, successors_;  // old ids: read through find()
  IdVector<GroupId, std::int32_t> position_;
  IdVector<GroupId, std::int64_t> in_set_, seen_forward_, seen_backward_;  // stamps
  std::int64_t stamp_ = 0;
  std::int64_t work_ = 0, work_limit_;
};

}  // namespace parallax
