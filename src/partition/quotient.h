// A graph whose nodes are put into groups, such that the groups again form a graph without cycles:
// then no path leaves a group and comes back, and a group can run as one piece. Groups are merged
// one set at a time; a topological order of the groups is kept up to date, so that a search never
// looks outside the stretch of the order that a merge concerns.
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
  /// node. At most `work_limit` edges are looked at in all searches together: what is not found out
  /// by then counts as not mergeable, so that no graph, however contrived, takes long.
  Quotient(const Dag& edges, const IdVector<NodeId, GroupId>& group_of, std::size_t groups,
           std::int64_t work_limit);

  GroupId group_of(NodeId node) const { return find(group_of_[node]); }
  /// What `group`, an id given earlier, has become.
  GroupId find(GroupId group) const;
  const std::vector<NodeId>& members(GroupId group) const { return members_[group]; }
  /// Groups with an edge to or from `group`, in topological order, each once.
  std::vector<GroupId> neighbours(GroupId group) const;

  /// True where no path leaves the union of `groups` (distinct) and comes back.
  bool convex(std::span<const GroupId> groups);
  /// Merges `groups` where they are convex; the group they became, invalid where they are not.
  GroupId merge(std::span<const GroupId> groups);
  /// The work limit was reached.
  bool exhausted() const { return work_ >= work_limit_; }

 private:
  using Lists = IdVector<GroupId, std::vector<GroupId>>;
  struct Search;
  enum class Progress : std::uint8_t { kMore, kDone, kCameBack };

  /// Looks at one more edge.
  Progress step(Search& search);
  /// Searches from `groups` along (against) the edges; both at once, until one knows the answer.
  bool search_both(std::span<const GroupId> groups, Search& forward, Search& backward);
  GroupId unite(std::span<const GroupId> groups);

  IdVector<NodeId, GroupId> group_of_;
  mutable IdVector<GroupId, GroupId> parent_;  // union-find, shortened when read
  IdVector<GroupId, std::vector<NodeId>> members_;
  Lists predecessors_, successors_;  // ids as they were: read through find()
  IdVector<GroupId, std::int32_t> position_;
  IdVector<GroupId, std::int64_t> in_set_, seen_forward_, seen_backward_;  // stamps
  std::int64_t stamp_ = 0;
  std::int64_t work_ = 0, work_limit_;
};

}  // namespace parallax
