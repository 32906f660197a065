#include <algorithm>
#include <cmath>

#include "branch/branch.h"

namespace parallax {
namespace {

/// Adds the branches of delegates to the heaviest group, or to the longest branch.
void add_delegates(std::vector<BranchId> delegates, const IdVector<BranchId, double>& seconds,
                   LayerGroups& groups) {
  if (delegates.empty()) return;
  if (groups.parallel.empty()) {
    const auto longest =
        std::max_element(groups.sequential.begin(), groups.sequential.end(),
                         [&](BranchId a, BranchId b) { return seconds[a] < seconds[b]; });
    if (longest != groups.sequential.end()) {
      delegates.push_back(*longest);
      groups.sequential.erase(longest);
    }
    if (delegates.size() == 1) {
      groups.sequential.push_back(delegates.front());
      return;
    }
    groups.parallel.emplace_back();
  }
  auto& group = groups.parallel.front();
  group.insert(group.end(), delegates.begin(), delegates.end());
  std::sort(group.begin(), group.end());
}

LayerGroups refine_layer(const BranchGraph& graph, const IdVector<BranchId, double>& seconds,
                         const std::vector<BranchId>& layer) {
  LayerGroups groups;
  std::vector<BranchId> candidates, delegates;
  for (BranchId branch : layer) {
    const bool qualifies = seconds[branch] > kSyncSeconds && std::isfinite(seconds[branch]);
    if (graph.region[branch].valid()) {
      delegates.push_back(branch);
    } else {
      (qualifies ? candidates : groups.sequential).push_back(branch);
    }
  }
  // Heaviest first: if there are several ways to form groups, the longest branches find partners.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](BranchId a, BranchId b) { return seconds[a] > seconds[b]; });
  for (auto begin = candidates.begin(); begin != candidates.end();) {
    const double heaviest = seconds[*begin];
    auto end = std::find_if(begin, candidates.end(),
                            [&](BranchId b) { return heaviest > kBalance * seconds[b]; });
    if (end - begin >= 2) {
      groups.parallel.emplace_back(begin, end);
      std::sort(groups.parallel.back().begin(), groups.parallel.back().end());
    } else {
      groups.sequential.push_back(*begin);
    }
    begin = end;
  }
  add_delegates(std::move(delegates), seconds, groups);
  std::sort(groups.sequential.begin(), groups.sequential.end());
  return groups;
}

LayerGroups refine_layer_as_paper(const BranchGraph& graph, const IdVector<BranchId, double>& macs,
                                  const std::vector<BranchId>& layer) {
  const auto [least, most] = std::minmax_element(
      layer.begin(), layer.end(), [&](BranchId a, BranchId b) { return macs[a] < macs[b]; });
  const bool large = std::all_of(layer.begin(), layer.end(), [&](BranchId branch) {
    return graph.branches[branch].size() > static_cast<std::size_t>(kMinBranchNodes);
  });
  const bool parallel =
      layer.size() > 1 && large && macs[*least] > 0 && macs[*most] <= kBalance * macs[*least];
  if (parallel) return {{layer}, {}};
  return {{}, layer};
}

}  // namespace

std::vector<LayerGroups> refine_by_time(const BranchGraph& graph,
                                        const IdVector<BranchId, double>& seconds) {
  std::vector<LayerGroups> groups;
  groups.reserve(graph.layers.size());
  for (const auto& layer : graph.layers) groups.push_back(refine_layer(graph, seconds, layer));
  return groups;
}

std::vector<LayerGroups> refine_by_paper(const BranchGraph& graph,
                                         const IdVector<BranchId, double>& macs) {
  std::vector<LayerGroups> groups;
  groups.reserve(graph.layers.size());
  for (const auto& layer : graph.layers)
    groups.push_back(refine_layer_as_paper(graph, macs, layer));
  return groups;
}

std::vector<LayerGroups> refine_nothing(const BranchGraph& graph) {
  std::vector<LayerGroups> groups;
  groups.reserve(graph.layers.size());
  for (const auto& layer : graph.layers)
    groups.push_back(layer.size() > 1 ? LayerGroups{{layer}, {}} : LayerGroups{{}, layer});
  return groups;
}

}  // namespace parallax
