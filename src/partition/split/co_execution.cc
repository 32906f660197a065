#include "partition/split/co_execution.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status.h"
#include "partition/parts.h"
#include "partition/region_key.h"
#include "partition/regions.h"
#include "partition/split/co_layout.h"
#include "partition/split/co_split.h"

namespace parallax {
namespace {

/// Rate of copies by one core of a server, from cache to memory and back.
constexpr double kCopiedBytesPerSecond = 8e9;
/// Rate at which one core reads weights from memory.
constexpr double kReadBytesPerSecond = 1e10;
/// Time from the end of one side until the other one, which slept, continues.
constexpr double kHandOverSeconds = 3e-5;
/// A split has to save this share of the predicted time.
constexpr double kWorthSplitting = 0.02;
/// Range of shares of rows that are tried, and the number of consecutive worse ones that ends the
/// search.
constexpr int kMinShare = kShares / 8, kMaxShare = kShares * 7 / 8, kMaxWorse = 3;

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
    const bool can_run = supported(graph, shapes, node, delegate) && !options.refuses(node);
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
  int share = 0;
};

/// Returns the share of rows with which both sides would end at the same time, if splitting were
/// free.
int even_share(const CoCosts& costs) {
  double cpu = 0, device = 0;
  for (const NodeId node : costs.can_run.ids()) {
    if (!costs.can_run[node]) continue;
    cpu += costs.cpu[node];
    device += costs.device[node];
  }
  const double share = cpu + device > 0 ? cpu / (cpu + device) : 0.5;
  return std::clamp(static_cast<int>(std::lround(share * kShares)), kMinShare, kMaxShare);
}

/// Returns the way to cut, and the share, with the fastest stretches: for `wanted`, or from the
/// even share on, as long as others improve.
Choice best_choice(const Graph& graph, const ConcreteShapes& shapes, const CoCosts& costs,
                   std::optional<int> wanted) {
  std::optional<Choice> best;
  const int even = wanted.value_or(even_share(costs));
  for (const RowChoice choice : {RowChoice::kRows, RowChoice::kFilters}) {
    const RowAxes axes = row_axes(graph, shapes, choice);
    const auto try_share = [&](int share) {
      CoPlan plan = plan_stretches(graph, shapes, axes, costs, share / double{kShares});
      const double seconds = plan.seconds;
      if (!best || seconds < best->plan.seconds) best = Choice{axes, std::move(plan), share};
      return seconds;
    };
    const double first = try_share(even);
    if (wanted) continue;
    for (const int step : {-1, 1}) {
      double least = first;
      int worse = 0;
      for (int share = even + step; worse < kMaxWorse && share >= kMinShare && share <= kMaxShare;
           share += step) {
        const double seconds = try_share(share);
        worse = seconds < least ? 0 : worse + 1;
        least = std::min(least, seconds);
      }
    }
  }
  return *std::move(best);
}

/// Assigns nodes to the CPU that the device turns out to lack. `ask`: may be null.
void check_device(const CoGraph& split, const ConcreteShapes& shapes, const Delegate& delegate,
                  const NodeQuestion& ask, IdVector<NodeId, CoNode>& nodes) {
  for (const NodeId node : nodes.ids()) {
    if (nodes[node].side != CoSide::kDevice) continue;
    if (!supported(split.graph, shapes, node, delegate) ||
        (ask != nullptr && !ask(split.graph, shapes, node).empty()))
      nodes[node].side = CoSide::kCpu;
  }
}

/// Sets the seconds of nodes by their share of the origin, and of copies by their bytes.
PartitionOptions options_of(const CoGraph& split, const ConcreteShapes& shapes,
                            const CoCosts& costs, const PartitionOptions& options) {
  PartitionOptions result = options;
  result.cpu_seconds = {};
  result.delegate_seconds = {};
  result.refused = {};
  result.co = split.nodes;
  for (const NodeId id : split.nodes.ids()) {
    const CoNode& node = split.nodes[id];
    result.refused.push_back(options.refuses(node.origin) ? options.refused[node.origin] : "");
    if (node.origin.valid()) {
      result.cpu_seconds.push_back(costs.cpu[node.origin] * node.share);
      result.delegate_seconds.push_back(costs.device[node.origin] * node.share);
      continue;
    }
    if (split.graph.nodes[id].op == OpKind::kTranspose) {  // both sides do without it
      result.cpu_seconds.push_back(0);
      result.delegate_seconds.push_back(0.0);
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

/// Returns the sizes of a split graph, and assigns nodes to the CPU that the device cannot run.
Result<ConcreteShapes> checked_shapes(const Binding& binding, const Delegate& delegate,
                                      const NodeQuestion& ask, CoGraph& split) {
  PX_RETURN_IF_ERROR(verify(split.graph, Stage::kPartition));
  PX_ASSIGN(ConcreteShapes shapes, concrete_shapes(split.graph, binding));
  check_device(split, shapes, delegate, ask, split.nodes);
  return shapes;
}

/// Returns the regions that nodes of the device's side will be in.
IdVector<NodeId, RegionId> device_regions(const CoGraph& split) {
  IdVector<NodeId, bool> on_device;
  for (const CoNode& node : split.nodes) on_device.push_back(node.side == CoSide::kDevice);
  const Quotient groups = find_candidates(dag_of(split.graph), on_device, {}, split.nodes);
  IdVector<NodeId, RegionId> result;
  for (const NodeId id : on_device.ids())
    result.push_back(on_device[id] ? RegionId{groups.group_of(id).value} : RegionId{});
  return result;
}

/// Returns the sizes of a split graph. If the delegate has the CPU's layout of images, they cross
/// in that layout from now on.
Result<ConcreteShapes> shapes_of_split(const Binding& binding, const Delegate& delegate,
                                       const NodeQuestion& ask, CoGraph& split) {
  PX_ASSIGN(ConcreteShapes shapes, checked_shapes(binding, delegate, ask, split));
  if (!delegate.channels_last ||
      turn_crossing_images(device_regions(split), split.graph, split.nodes) == 0)
    return shapes;
  return checked_shapes(binding, delegate, ask, split);
}

bool offloads_all_parts(const Partition& partition) {
  return std::ranges::none_of(partition.returned, [](const Region& r) { return r.shared; });
}

/// The graph before, and what is known of it.
struct Whole {
  const Graph& graph;
  const ConcreteShapes& shapes;
  const Binding& binding;
  const CoCosts& costs;
  double seconds = 0;  ///< without a split
};

/// Returns a split with the share `timed`, which runs have to judge, or with the best share that is
/// predicted to pay off.
std::optional<CoExecution> split_with(const Whole& whole, std::optional<int> timed,
                                      const Delegate& delegate, const PartitionOptions& options) {
  const double limit = whole.seconds * (1 - kWorthSplitting);
  const auto [axes, plan, share] = best_choice(whole.graph, whole.shapes, whole.costs, timed);
  if (!timed && plan.seconds >= limit) return std::nullopt;
  CoGraph split = split_graph(whole.graph, whole.shapes, axes, plan, whole.costs.can_run);
  for (CoNode& node : split.nodes)
    if (node.origin.valid()) node.seconds = whole.costs.device[node.origin] * node.share;
  auto split_shapes = shapes_of_split(whole.binding, delegate, options.ask, split);
  if (!split_shapes) return std::nullopt;
  CoExecution result;
  result.partition = partition(split.graph, *split_shapes, delegate,
                               options_of(split, *split_shapes, whole.costs, options));
  result.seconds = std::max(plan.seconds, result.partition.seconds);
  if (!offloads_all_parts(result.partition) || (!timed && result.seconds >= limit))
    return std::nullopt;
  for (const SplitSegment& stretch : plan.stretches) {
    result.stretches += stretch.split ? 1 : 0;
    result.nodes += stretch.split ? static_cast<int>(stretch.end - stretch.begin) : 0;
  }
  result.share = share;
  for (const CoNode& node : split.nodes) result.origins.push_back(node.origin);
  result.graph = std::move(split.graph);
  result.shapes = *std::move(split_shapes);
  return result;
}

/// Returns the key of a split; refused nodes change the times of its runs, so they are a part of
/// it.
std::uint64_t key_of(const Graph& graph, const ConcreteShapes& shapes,
                     const PartitionOptions& options) {
  std::vector<NodeId> all, refused;
  for (const NodeId node : graph.nodes.ids()) {
    all.push_back(node);
    if (options.refuses(node)) refused.push_back(node);
  }
  const auto keys = node_keys(graph, shapes);
  const std::uint64_t key = region_key(keys, all);
  return refused.empty() ? key : key ^ region_key(keys, refused);
}

/// Returns whether runs of the best split were slower than the prediction for the unsplit graph.
bool runs_lose(const Calibration& calibration, std::uint64_t key, double whole_seconds) {
  constexpr double kSurely = 1.15;  // predictions are not exact
  const std::optional<int> best = best_share(calibration, key);
  return best && std::ranges::any_of(calibration.splits, [&](const SplitSample& sample) {
           return sample.key == key && sample.share == *best &&
                  sample.seconds > whole_seconds * kSurely;
         });
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
  const Whole before{concrete, *shapes, binding, costs, whole.seconds};
  const std::uint64_t key = key_of(concrete, *shapes, options);
  if (runs_lose(options.calibration, key, whole.seconds)) return std::nullopt;
  const std::optional<int> next = next_share(options.calibration, key);
  auto result = split_with(before, next, delegate, options);
  std::optional<int> refused;
  if (!result && next) {
    refused = next;
    result = split_with(before, best_share(options.calibration, key), delegate, options);
  }
  if (!result) return std::nullopt;
  result->key = key;
  result->refused = refused;
  return result;
}

std::string to_string(const CoExecution& split, const Delegate& delegate, double whole_seconds) {
  return fmt::format(
      "{} stretches of {} nodes, {:.3g} % of the rows on {}: {:.4g} ms, {:.4g} ms "
      "without",
      split.stretches, split.nodes, split.share * 100.0 / kShares, delegate.name,
      split.seconds * 1e3, whole_seconds * 1e3);
}

}  // namespace parallax
