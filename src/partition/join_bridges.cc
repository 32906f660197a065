#include "partition/join_bridges.h"

#include <algorithm>
#include <array>

namespace parallax {
namespace {

/// Bridge nodes in a row that are tried as a whole: what exporters put between two products (a
/// cast, a transpose, a mask, a softmax and the way back) is not longer.
constexpr std::size_t kMaxGap = 8;
/// Neighbours that are tried, first in order: keeps a node that hundreds read from costing their
/// square.
constexpr std::size_t kMaxNeighbours = 8;
/// Nodes priced in all trials together, per node of the graph: keeps the whole linear.
constexpr std::int64_t kTrialsPerNode = 32;

class BridgeJoiner {
 public:
  BridgeJoiner(const NodeKinds& kinds, Pricer& pricer, Quotient& quotient)
      : kinds_(kinds),
        pricer_(pricer),
        quotient_(quotient),
        trials_left_(kTrialsPerNode * (static_cast<std::int64_t>(kinds.can_run.size()) + 1)) {}

  void join(NodeId node) {
    const GroupId own = quotient_.group_of(node);
    if (!is_gap(own)) return;
    std::vector<GroupId> gap = gap_of(own);
    GroupId whole = join_pair(gap);
    if (!whole.valid() && gap.size() > 1) whole = join_pair({own});
    while (whole.valid()) whole = extend(whole);
  }

 private:
  /// Still a bridge node that joined nothing.
  bool is_gap(GroupId group) const {
    const auto& members = quotient_.members(group);
    return members.size() == 1 && kinds_.bridge[members.front()];
  }
  bool is_candidate(GroupId group) const {
    const auto& members = quotient_.members(group);
    if (kinds_.taken.contains(members.front()) && kinds_.taken[members.front()].valid())
      return false;
    return members.size() > 1 || kinds_.can_run[members.front()];
  }

  /// Returns `group` and the bridge nodes connected to it; only `group` if they are too many.
  std::vector<GroupId> gap_of(GroupId group) const {
    std::vector<GroupId> gap = {group};
    for (std::size_t i = 0; i < gap.size(); ++i) {
      for (const GroupId next : quotient_.neighbours(gap[i])) {
        if (!is_gap(next) || std::find(gap.begin(), gap.end(), next) != gap.end()) continue;
        if (gap.size() == kMaxGap) return {group};
        gap.push_back(next);
      }
    }
    return gap;
  }

  std::vector<GroupId> candidates_around(const std::vector<GroupId>& groups) const {
    std::vector<GroupId> result;
    for (const GroupId group : groups) {
      for (const GroupId next : quotient_.neighbours(group)) {
        if (result.size() == kMaxNeighbours) return result;
        if (!is_candidate(next)) continue;
        if (std::find(result.begin(), result.end(), next) == result.end()) result.push_back(next);
      }
    }
    return result;
  }

  /// Returns the time saved by offloading `groups` as one unit; 0 if it loses or is not allowed.
  double saved(const std::vector<GroupId>& groups) {
    std::vector<NodeId> nodes;
    for (const GroupId group : groups) {
      const auto& members = quotient_.members(group);
      nodes.insert(nodes.end(), members.begin(), members.end());
    }
    trials_left_ -= static_cast<std::int64_t>(nodes.size());
    const RegionCost cost = pricer_.region_cost(nodes);
    return pricer_.judge(cost).reason == CpuReason::kNone ? cost.saved_seconds() : 0;
  }

  /// Returns the time that one unit made of `parts` saves beyond the parts separately; 0 or less:
  /// not worthwhile.
  double gain(const std::vector<GroupId>& parts) {
    const double together = saved(parts);
    if (together <= 0) return 0;
    double apart = 0;
    for (const GroupId part : parts) {
      if (is_candidate(part)) apart += std::max(saved({part}), 0.0);
    }
    return together > apart && quotient_.convex(parts) ? together - apart : 0;
  }

  /// Merges the gap with the two neighbours that gain most by it.
  GroupId join_pair(const std::vector<GroupId>& gap) {
    const std::vector<GroupId> around = candidates_around(gap);
    std::vector<GroupId> best;
    double best_gain = 0;
    for (std::size_t i = 0; i < around.size(); ++i) {
      for (std::size_t j = i + 1; j < around.size() && trials_left_ > 0; ++j) {
        std::vector<GroupId> parts = gap;
        parts.insert(parts.end(), {around[i], around[j]});
        const double pair_gain = gain(parts);
        if (pair_gain <= best_gain) continue;
        best_gain = pair_gain;
        best = std::move(parts);
      }
    }
    return best.empty() ? GroupId{} : quotient_.merge(best);
  }

  /// Merges one neighbour into `whole` if that is worthwhile.
  GroupId extend(GroupId whole) {
    for (const GroupId next : candidates_around({whole})) {
      if (trials_left_ <= 0) break;
      const std::vector<GroupId> parts = {whole, next};
      if (gain(parts) > 0) return quotient_.merge(parts);
    }
    return {};
  }

  const NodeKinds& kinds_;
  Pricer& pricer_;
  Quotient& quotient_;
  std::int64_t trials_left_;
};

}  // namespace

void join_bridges(const NodeKinds& kinds, Pricer& pricer, Quotient& quotient) {
  BridgeJoiner joiner(kinds, pricer, quotient);
  for (const NodeId node : kinds.bridge.ids()) {
    if (kinds.bridge[node]) joiner.join(node);
  }
}

}  // namespace parallax
