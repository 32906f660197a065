// Converts a partition to text, and states its candidates and the reason why a node stays on the
// CPU.
#include <fmt/format.h>

#include "partition/partition.h"

namespace parallax {
namespace {

void print_region(const Graph& graph, std::string_view title, RegionId id, const Region& region,
                  std::string& text) {
  const RegionCost& cost = region.cost;
  fmt::format_to(std::back_inserter(text),
                 "{} {}: {} nodes, {} MAC, {} bytes in and out, saves {:.4g} ms: {}{}\n ", title,
                 id.value, cost.nodes, cost.macs, cost.boundary_bytes, cost.saved_seconds() * 1e3,
                 region.verdict.reason == CpuReason::kNone
                     ? ""
                     : fmt::format("{}: ", to_string(region.verdict.reason)),
                 region.verdict.detail);
  for (const NodeId node : region.nodes) text += " " + graph.nodes[node].name;
  text += "\n";
}

}  // namespace

IdVector<NodeId, RegionId> all_candidates(const Partition& partition) {
  IdVector<NodeId, RegionId> region_of;
  const auto offloaded = static_cast<std::int32_t>(partition.regions.size());
  for (const Placement& placement : partition.placement) {
    region_of.push_back(placement.returned.valid() ? RegionId{offloaded + placement.returned.value}
                                                   : placement.region);
  }
  return region_of;
}

std::string cpu_reason(const Partition& partition, NodeId node) {
  const Placement& placement = partition.placement[node];
  if (placement.reason == CpuReason::kNone) return "";
  const std::string& detail = placement.returned.valid()
                                  ? partition.returned[placement.returned].verdict.detail
                                  : placement.detail;
  return fmt::format("{}: {}", to_string(placement.reason), detail);
}

std::string print(const Graph& graph, const Partition& partition) {
  std::string text;
  for (const RegionId id : partition.regions.ids()) {
    print_region(graph, "region", id, partition.regions[id], text);
  }
  for (const RegionId id : partition.returned.ids()) {
    print_region(graph, "returned", id, partition.returned[id], text);
  }
  for (const NodeId node : graph.nodes.ids()) {
    const Placement& placement = partition.placement[node];
    if (placement.reason == CpuReason::kNone || placement.returned.valid()) continue;
    text += fmt::format("cpu: {} {}\n", graph.nodes[node].name, cpu_reason(partition, node));
  }
  return text;
}

}  // namespace parallax
