// A partition as text, and the list of nodes that stay on the CPU.
#include <fmt/format.h>

#include "partition/partition.h"

namespace parallax {
namespace {

/// Nodes that an error names; the rest is a number.
constexpr std::size_t kMaxNamed = 10;

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

std::string cpu_reason(const Partition& partition, NodeId node) {
  const Placement& placement = partition.placement[node];
  if (placement.reason == CpuReason::kNone) return "";
  const std::string& detail = placement.returned.valid()
                                  ? partition.returned[placement.returned].verdict.detail
                                  : placement.detail;
  return fmt::format("{}: {}", to_string(placement.reason), detail);
}

Status require_full(const Graph& graph, const Partition& partition) {
  std::string list;
  std::size_t count = 0;
  std::string first;
  for (const NodeId node : graph.nodes.ids()) {
    if (partition.placement[node].reason == CpuReason::kNone) continue;
    if (count++ >= kMaxNamed) continue;
    if (first.empty()) first = graph.nodes[node].name;
    list += fmt::format("{}'{}' ({}) {}", list.empty() ? "" : "; ", graph.nodes[node].name,
                        to_string(graph.nodes[node].op), cpu_reason(partition, node));
  }
  if (count == 0) return {};
  if (count > kMaxNamed) list += fmt::format("; and {} more", count - kMaxNamed);
  return tl::unexpected(
      Error{Stage::kPartition, ErrorCode::kUnsupported, first,
            fmt::format("{} of {} nodes stay on the CPU: {}", count, graph.nodes.size(), list)});
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
