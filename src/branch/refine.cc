#include <algorithm>
#include <cmath>

#include "branch/branch.h"

namespace parallax {
namespace {

LayerGroups refine_layer(const BranchGraph& graph, const IdVector<BranchId, double>& work,
                         const std::vector<BranchId>& layer) {
  LayerGroups groups;
  std::vector<BranchId> candidates;
  for (BranchId branch : layer) {
    const bool qualifies =
        graph.branches[branch].size() > static_cast<std::size_t>(kMinBranchNodes) &&
        work[branch] > 0 && std::isfinite(work[branch]);
    (qualifies ? candidates : groups.sequential).push_back(branch);
  }
  // Heaviest first: where groups could be cut in several ways, the longest branches find partners.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](BranchId a, BranchId b) { return work[a] > work[b]; });
  for (auto begin = candidates.begin(); begin != candidates.end();) {
    const double heaviest = work[*begin];
    auto end = std::find_if(begin, candidates.end(),
                            [&](BranchId b) { return heaviest > kBalance * work[b]; });
    if (end - begin >= 2) {
      groups.parallel.emplace_back(begin, end);
      std::sort(groups.parallel.back().begin(), groups.parallel.back().end());
    } else {
      groups.sequential.push_back(*begin);
    }
    begin = end;
  }
  std::sort(groups.sequential.begin(), groups.sequential.end());
  return groups;
}

}  // namespace

std::vector<LayerGroups> refine(const BranchGraph& graph, const IdVector<BranchId, double>& work) {
  std::vector<LayerGroups> groups;
  groups.reserve(graph.layers.size());
  for (const auto& layer : graph.layers) groups.push_back(refine_layer(graph, work, layer));
  return groups;
}

}  // namespace parallax
