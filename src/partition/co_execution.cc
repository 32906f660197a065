#include "partition/co_execution.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "partition/co_split.h"
#include "partition/parts.h"

namespace parallax {
namespace {

/// What one core of a server copies, from cache to memory and back.
constexpr double kCopiedBytesPerSecond = 8e9;
/// What one core reads of weights that lie in memory.
constexpr double kReadBytesPerSecond = 1e10;
/// From the end of one side until the other, which slept, goes on.
constexpr double kHandOverSeconds = 3e-5;
/// A split has to save this share of the predicted time.
constexpr double kWorthSplitting = 0.02;
/// Shares of rows that are tried, in sixteenths.
constexpr int kParts16 = 16;

bool supported(const Graph& graph, const ConcreteShapes& shapes, NodeId node,
               const Delegate& delegate) {
  const Support support = check_support(graph, shapes, node, delegate);
  if (support.reason == CpuReason::kNone) return !support.bridge;
  return supported_parts(graph, shapes, node, delegate).has_value();
}

double parts_seconds(const NodeParts& parts, const Delegate& delegate,
                     const PartitionOptions& options) {
  const Pricer pricer(parts.graph, parts.shapes, delegate, options.model, options.calibration);
  double seconds = 0;
  for (const NodeId part : parts.graph.nodes.ids())
    seconds += pricer.node_cost(part).delegate_seconds;
  return seconds;
}

CoCosts costs_of(const Graph& graph, const ConcreteShapes& shapes, const Delegate& delegate,
                 const PartitionOptions& options) {
  const Pricer pricer(graph, shapes, delegate, options.model, options.calibration,
                      {options.cpu_seconds, options.delegate_seconds});
  CoCosts costs;
  for (const NodeId node : graph.nodes.ids()) {
    const NodeCost cost = pricer.node_cost(node);
    costs.cpu.push_back(cost.cpu_seconds);
    const bool can_run = supported(graph, shapes, node, delegate);
    costs.can_run.push_back(can_run);
    const bool known = options.delegate_seconds.contains(node) && options.delegate_seconds[node];
    const auto parts = can_run && !known && !delegate.operators.contains(graph.nodes[node].op)
                           ? supported_parts(graph, shapes, node, delegate)
                           : std::nullopt;
    costs.device.push_back(parts ? parts_seconds(*parts, delegate, options)
                                 : cost.delegate_seconds);
  }
  costs.region_seconds = delegate.launch_seconds + kHandOverSeconds;
  costs.copied_bytes_per_second = kCopiedBytesPerSecond;
  costs.read_bytes_per_second = kReadBytesPerSecond;
  return costs;
}

struct Choice {
  RowAxes axes;
  CoPlan plan;
};

/// The way to cut, and the share, with which stretches take least.
Choice best_choice(const Graph& graph, const ConcreteShapes& shapes, const CoCosts& costs) {
  std::optional<Choice> best;
  for (const RowChoice choice : {RowChoice::kRows, RowChoice::kFilters}) {
    const RowAxes axes = row_axes(graph, shapes, choice);
    for (int share = 2; share < kParts16 - 1; ++share) {
      CoPlan plan = plan_stretches(graph, shapes, axes, costs, share / double{kParts16});
      if (!best || plan.seconds < best->plan.seconds) best = Choice{axes, std::move(plan)};
    }
  }
  return *std::move(best);
}

/// What the device turns out to lack of its part is the CPU's.
void check_device(const CoGraph& split, const ConcreteShapes& shapes, const Delegate& delegate,
                  IdVector<NodeId, CoNode>& nodes) {
  for (const NodeId node : nodes.ids())
    if (nodes[node].side == CoSide::kDevice && !supported(split.graph, shapes, node, delegate))
      nodes[node].side = CoSide::kCpu;
}

/// Seconds of nodes by their share of the node before, of copies by their bytes.
PartitionOptions options_of(const CoGraph& split, const ConcreteShapes& shapes,
                            const CoCosts& costs, const PartitionOptions& options) {
  PartitionOptions result = options;
  result.cpu_seconds = {};
  result.delegate_seconds = {};
  result.co = split.nodes;
  for (const NodeId id : split.nodes.ids()) {
    const CoNode& node = split.nodes[id];
    if (node.origin.valid()) {
      result.cpu_seconds.push_back(costs.cpu[node.origin] * node.share);
      result.delegate_seconds.push_back(costs.device[node.origin] * node.share);
      continue;
    }
    const ValueId moved = split.graph.nodes[id].outputs[0];
    const double bytes =
        static_cast<double>(bytes_of(split.graph.values[moved].dtype, *shapes[moved]).value_or(0));
    result.cpu_seconds.push_back(bytes / costs.copied_bytes_per_second);
    result.delegate_seconds.push_back(bytes / costs.copied_bytes_per_second);
  }
  return result;
}

bool offloads_all_parts(const Partition& partition) {
  return std::ranges::none_of(partition.returned, [](const Region& r) { return r.shared; });
}

}  // namespace

std::optional<CoExecution> co_execution(const Graph& graph, const Binding& binding,
                                        const Delegate& delegate, const PartitionOptions& options,
                                        const Partition& whole) {
  if (options.offload != Offload::kProfitable || options.model == CostModel::kPaper ||
      options.max_regions || whole.seconds <= 0)
    return std::nullopt;
  const Graph concrete = concrete_graph(graph, binding);
  const auto shapes = concrete_shapes(concrete, binding);
  if (!shapes) return std::nullopt;
  const CoCosts costs = costs_of(concrete, *shapes, delegate, options);
  const auto [axes, plan] = best_choice(concrete, *shapes, costs);
  if (plan.seconds >= whole.seconds * (1 - kWorthSplitting)) return std::nullopt;

  CoGraph split = split_graph(concrete, *shapes, axes, plan, costs.can_run);
  auto split_shapes = concrete_shapes(split.graph, binding);
  if (!split_shapes || !verify(split.graph, Stage::kPartition)) return std::nullopt;
  check_device(split, *split_shapes, delegate, split.nodes);
  CoExecution result;
  result.partition = partition(split.graph, *split_shapes, delegate,
                               options_of(split, *split_shapes, costs, options));
  result.seconds = std::max(plan.seconds, result.partition.seconds);
  if (!offloads_all_parts(result.partition) ||
      result.seconds >= whole.seconds * (1 - kWorthSplitting))
    return std::nullopt;
  for (const CoStretch& stretch : plan.stretches) {
    result.stretches += stretch.split ? 1 : 0;
    result.nodes += stretch.split ? static_cast<int>(stretch.end - stretch.begin) : 0;
  }
  result.device_share = plan.device_share;
  result.graph = std::move(split.graph);
  result.shapes = *std::move(split_shapes);
  return result;
}

std::string to_string(const CoExecution& split, const Delegate& delegate, double whole_seconds) {
  return fmt::format(
      "{} stretches of {} nodes, {:.3g} % of the rows on {}: {:.4g} ms, {:.4g} ms "
      "without",
      split.stretches, split.nodes, split.device_share * 100, delegate.name, split.seconds * 1e3,
      whole_seconds * 1e3);
}

}  // namespace parallax
