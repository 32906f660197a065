#include "partition/partition.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/status.h"
#include "partition/join_bridges.h"
#include "partition/overlap.h"
#include "partition/parts.h"
#include "partition/regions.h"

namespace parallax {
namespace {

/// Returns the delegate's time for the parts of a node that it lacks; nullopt if it cannot run
/// them.
std::optional<double> seconds_in_parts(const Graph& graph, const ConcreteShapes& shapes, NodeId id,
                                       const Delegate& delegate, const PartitionOptions& options) {
  const auto parts = supported_parts(graph, shapes, id, delegate);
  if (!parts) return std::nullopt;
  const Pricer pricer(parts->graph, parts->shapes, delegate, options.model, options.calibration);
  double seconds = 0;
  for (const NodeId part : parts->graph.nodes.ids())
    seconds += pricer.node_cost(part).delegate_seconds;
  return seconds;
}

/// Fills in placements by what the delegate can run; `bridge` marks nodes that only join regions.
/// Returns the delegate's seconds for nodes that it runs in parts.
IdVector<NodeId, std::optional<double>> place_by_support(const Graph& graph,
                                                         const ConcreteShapes& shapes,
                                                         const Delegate& delegate,
                                                         const PartitionOptions& options,
                                                         Partition& result, NodeKinds& kinds) {
  IdVector<NodeId, std::optional<double>> seconds(graph.nodes.size());
  for (const NodeId node : graph.nodes.ids()) {
    if (kinds.taken.contains(node) && kinds.taken[node].valid()) continue;
    Support support = check_support(graph, shapes, node, delegate);
    if (support.reason != CpuReason::kNone) {
      seconds[node] = seconds_in_parts(graph, shapes, node, delegate, options);
      if (seconds[node]) support = {};
    }
    if (!options.co.empty() && options.co[node].side == CoSide::kCpu)
      support = {CpuReason::kShared, "other rows of the same results run there", false};
    if (options.refuses(node)) support = {CpuReason::kRefused, options.refused[node], false};
    const bool bridge =
        support.bridge && (options.offload == Offload::kProfitable || !options.co.empty());
    kinds.can_run[node] = support.reason == CpuReason::kNone && !bridge;
    kinds.bridge[node] = bridge;
    if (bridge) {
      support = {CpuReason::kBridge, "joins no regions that save time together", true};
    }
    result.placement[node].reason = support.reason;
    result.placement[node].detail = std::move(support.detail);
  }
  return seconds;
}

/// Does the same for nodes with sizes that become known during a run, and marks them in the result.
IdVector<NodeId, bool> place_run_time_nodes(const Graph& graph, const ConcreteShapes& shapes,
                                            const Delegate& delegate,
                                            const PartitionOptions& options, Partition& result,
                                            NodeKinds& kinds) {
  IdVector<NodeId, bool> found(graph.nodes.size(), false);
  if (!delegate.dynamic_shapes || options.assumed.empty()) return found;
  for (const NodeId node : graph.nodes.ids()) {
    Placement& placement = result.placement[node];
    if (placement.reason != CpuReason::kDynamicShape) continue;
    Support support = check_run_time_support(graph, shapes, options.assumed, node, delegate);
    kinds.bridge[node] = support.bridge && options.offload == Offload::kProfitable;
    found[node] = support.reason == CpuReason::kNone;
    kinds.can_run[node] = found[node] && !kinds.bridge[node];
    if (kinds.bridge[node])
      support = {CpuReason::kBridge, "joins no regions that save time together", true};
    placement = {{}, {}, support.reason, std::move(support.detail)};
  }
  return found;
}

/// Returns every group that is a candidate, with its verdict, ordered by first node.
std::vector<Region> judge_groups(const Quotient& quotient, const NodeKinds& kinds, Pricer& pricer,
                                 int delegate) {
  std::vector<Region> regions;
  IdVector<NodeId, bool> seen(kinds.can_run.size(), false);
  for (const NodeId node : kinds.can_run.ids()) {
    if (!kinds.can_run[node] || seen[node]) continue;
    Region region;
    region.delegate = delegate;
    region.nodes = quotient.members(quotient.group_of(node));
    std::sort(region.nodes.begin(), region.nodes.end());
    for (const NodeId member : region.nodes) seen[member] = true;
    region.cost = pricer.region_cost(region.nodes);
    region.verdict = pricer.judge(region.cost);
    regions.push_back(std::move(region));
  }
  std::stable_sort(regions.begin(), regions.end(), [](const Region& a, const Region& b) {
    return a.nodes.front() < b.nodes.front();
  });
  return regions;
}

/// Regions that compute some rows of shared results are not chosen individually.
void mark_shared(const IdVector<NodeId, CoNode>& co, std::vector<Region>& regions) {
  for (Region& region : regions) {
    region.shared = !co.empty() && co[region.nodes.front()].side == CoSide::kDevice;
    if (!region.shared || region.verdict.reason != CpuReason::kLoses) continue;
    region.verdict = {CpuReason::kNone, "the CPU makes the other rows meanwhile"};
  }
}

void take_losers(std::vector<Region>& regions) {
  for (Region& region : regions)
    if (region.verdict.reason == CpuReason::kLoses) region.verdict.reason = CpuReason::kNone;
}

/// Gives back the winners that save least beyond the first `limit`.
void keep_best(std::vector<Region>& regions, int limit) {
  std::vector<Region*> winners;
  for (Region& region : regions) {
    if (region.verdict.reason == CpuReason::kNone) winners.push_back(&region);
  }
  const auto kept = static_cast<std::size_t>(std::max(limit, 0));
  if (winners.size() <= kept) return;
  std::stable_sort(winners.begin(), winners.end(), [](const Region* a, const Region* b) {
    return a->cost.saved_seconds() > b->cost.saved_seconds();
  });
  for (std::size_t i = kept; i < winners.size(); ++i) {
    winners[i]->verdict = {CpuReason::kLimit, "other regions save more"};
  }
}

void place_regions(std::vector<Region> regions, Partition& result) {
  for (Region& region : regions) {
    const bool offload = region.verdict.reason == CpuReason::kNone;
    auto& list = offload ? result.regions : result.returned;
    const RegionId id{static_cast<std::int32_t>(list.size())};
    for (const NodeId node : region.nodes) {
      Placement& placement = result.placement[node];
      placement = {};
      placement.reason = region.verdict.reason;
      (offload ? placement.region : placement.returned) = id;
    }
    if (offload) result.saved_seconds += region.cost.saved_seconds();
    list.push_back(std::move(region));
  }
}

/// Returns the region of another delegate that has each node; empty: there are no such regions.
IdVector<NodeId, RegionId> region_of(const IdVector<RegionId, Region>& taken, std::size_t nodes) {
  if (taken.empty()) return {};
  IdVector<NodeId, RegionId> result(nodes);
  for (const RegionId region : taken.ids())
    for (const NodeId node : taken[region].nodes) result[node] = region;
  return result;
}

/// Returns known times; those of parts if nothing else is known.
NodeSeconds known_seconds(const PartitionOptions& options,
                          IdVector<NodeId, std::optional<double>> in_parts) {
  for (const NodeId node : options.delegate_seconds.ids())
    if (options.delegate_seconds[node]) in_parts[node] = options.delegate_seconds[node];
  return {options.cpu_seconds, std::move(in_parts)};
}

IdVector<NodeId, double> seconds_on_cpu(const Graph& graph, const Pricer& pricer) {
  IdVector<NodeId, double> seconds;
  seconds.reserve(graph.nodes.size());
  for (const NodeId node : graph.nodes.ids()) seconds.push_back(pricer.node_cost(node).cpu_seconds);
  return seconds;
}

std::vector<bool> marks_of_offloaded(const std::vector<Region>& regions) {
  std::vector<bool> result;
  result.reserve(regions.size());
  for (const Region& region : regions) result.push_back(region.verdict.reason == CpuReason::kNone);
  return result;
}

/// Returns the time of a graph whose regions and other nodes run one after the other.
double seconds_in_order(const IdVector<NodeId, double>& cpu_seconds,
                        const std::vector<Region>& regions) {
  double seconds = 0;
  for (const double node : cpu_seconds) seconds += node;
  for (const Region& region : regions)
    if (region.verdict.reason == CpuReason::kNone) seconds -= region.cost.saved_seconds();
  return seconds;
}

/// Chooses regions, if `options` allows it, by the predicted time of the whole graph together with
/// the taken regions; returns that time in seconds. In a body, the best choice for each region is
/// the best for all.
double choose(const Graph& graph, const Dag& edges, const Pricer& pricer,
              const PartitionOptions& options, std::vector<Region>& regions) {
  const IdVector<NodeId, double> cpu_seconds = seconds_on_cpu(graph, pricer);
  std::vector<Region> all(options.taken.begin(), options.taken.end());
  if (!options.body.empty()) {
    all.insert(all.end(), regions.begin(), regions.end());
    return seconds_in_order(cpu_seconds, all);
  }
  std::ranges::move(regions, std::back_inserter(all));
  const Overlap overlap(edges, cpu_seconds, all);
  const bool by_time =
      options.offload == Offload::kProfitable && options.model != CostModel::kPaper;
  const double seconds =
      by_time ? choose_by_overlap(overlap, all, options.max_regions, options.taken.size())
              : overlap.seconds(marks_of_offloaded(all));
  regions.assign(
      std::make_move_iterator(all.begin() + static_cast<std::ptrdiff_t>(options.taken.size())),
      std::make_move_iterator(all.end()));
  return seconds;
}

tl::unexpected<Error> refuse_pinned(std::string message) {
  return tl::unexpected(Error{Stage::kPartition, ErrorCode::kInvalidInput, {}, std::move(message)});
}

Status check_pinned(const Graph& graph, const Partition& support, const NodeKinds& kinds,
                    const IdVector<NodeId, bool>& run_time,
                    const std::vector<std::vector<NodeId>>& regions) {
  IdVector<NodeId, bool> seen(graph.nodes.size(), false);
  for (const std::vector<NodeId>& nodes : regions) {
    if (nodes.empty()) return refuse_pinned("a region without nodes");
    const auto count = std::ranges::count_if(nodes, [&](NodeId node) { return run_time[node]; });
    if (count > 0 && count < std::ssize(nodes))
      return refuse_pinned(fmt::format("only running tells some sizes of the region of node '{}'",
                                       graph.nodes[nodes.front()].name));
    for (const NodeId node : nodes) {
      const std::string& name = graph.nodes[node].name;
      if (seen[node]) return refuse_pinned(fmt::format("node '{}' stands there twice", name));
      seen[node] = true;
      if (kinds.can_run[node] || kinds.bridge[node]) continue;
      return refuse_pinned(fmt::format("the delegate does not run node '{}': {}", name,
                                       support.placement[node].detail));
    }
  }
  return {};
}

/// Returns whether the graph has an order with each of these as one node.
bool leave_no_cycle(const Dag& edges, std::size_t nodes,
                    const std::vector<std::vector<NodeId>>& regions) {
  std::vector<std::size_t> unit(nodes);
  for (std::size_t i = 0; i < nodes; ++i) unit[i] = i;
  for (const std::vector<NodeId>& region : regions)
    for (const NodeId node : region)
      unit[static_cast<std::size_t>(node.value)] = static_cast<std::size_t>(region.front().value);
  std::vector<std::vector<std::size_t>> next(nodes);
  std::vector<int> waits(nodes, 0);
  for (std::size_t i = 0; i < nodes; ++i) {
    for (const NodeId to : edges.successors[NodeId{static_cast<std::int32_t>(i)}]) {
      const std::size_t target = unit[static_cast<std::size_t>(to.value)];
      if (target == unit[i]) continue;
      next[unit[i]].push_back(target);
      ++waits[target];
    }
  }
  std::vector<std::size_t> ready;
  std::size_t left = 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    if (unit[i] != i) continue;
    ++left;
    if (waits[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const std::size_t done = ready.back();
    ready.pop_back();
    --left;
    for (const std::size_t target : next[done])
      if (--waits[target] == 0) ready.push_back(target);
  }
  return left == 0;
}

}  // namespace

Partition partition(const Graph& graph, const ConcreteShapes& shapes, const Delegate& delegate,
                    const PartitionOptions& options) {
  Partition result;
  result.placement.resize(graph.nodes.size());
  NodeKinds kinds{IdVector<NodeId, bool>(graph.nodes.size(), false),
                  IdVector<NodeId, bool>(graph.nodes.size(), false),
                  region_of(options.taken, graph.nodes.size())};
  auto in_parts = place_by_support(graph, shapes, delegate, options, result, kinds);

  const Dag edges = dag_of(graph);
  Quotient quotient = find_candidates(edges, kinds.can_run, kinds.taken, options.co);
  Pricer pricer(graph, shapes, delegate, options.model, options.calibration,
                known_seconds(options, std::move(in_parts)), options.body);
  if (options.co.empty()) join_bridges(kinds, pricer, quotient);
  result.maximal = !quotient.exhausted();

  std::vector<Region> regions = judge_groups(quotient, kinds, pricer, options.delegate);
  mark_shared(options.co, regions);
  if (options.offload == Offload::kAll) take_losers(regions);
  if (options.max_regions) keep_best(regions, *options.max_regions);
  result.seconds = choose(graph, edges, pricer, options, regions);
  place_regions(std::vector<Region>(options.taken.begin(), options.taken.end()), result);
  place_regions(std::move(regions), result);
  return result;
}

void add_run_time_regions(const Graph& graph, const ConcreteShapes& shapes,
                          const Delegate& delegate, const PartitionOptions& options,
                          Partition& partition) {
  NodeKinds kinds{IdVector<NodeId, bool>(graph.nodes.size(), false),
                  IdVector<NodeId, bool>(graph.nodes.size(), false), all_candidates(partition)};
  const IdVector<NodeId, bool> found =
      place_run_time_nodes(graph, shapes, delegate, options, partition, kinds);
  if (std::ranges::find(found, true) == found.end()) return;
  PartitionOptions further = options;
  further.taken = partition.regions;
  if (further.max_regions) *further.max_regions -= static_cast<int>(partition.regions.size());

  const Dag edges = dag_of(graph);
  Quotient quotient = find_candidates(edges, kinds.can_run, kinds.taken);
  Pricer pricer(graph, options.assumed, delegate, options.model, options.calibration,
                known_seconds(options, {}));
  join_bridges(kinds, pricer, quotient);
  partition.maximal = partition.maximal && !quotient.exhausted();
  std::vector<Region> regions = judge_groups(quotient, kinds, pricer, options.delegate);
  for (Region& region : regions) region.run_time = true;
  if (options.offload == Offload::kAll) take_losers(regions);
  if (further.max_regions) keep_best(regions, *further.max_regions);
  const double seconds = choose(graph, edges, pricer, further, regions);
  for (Region& region : regions)
    region.verdict.detail +=
        fmt::format("; sizes that only running tells taken as {}", kAssumedSize);
  // A split graph may be predicted to be slower than its parts (co_execution.h).
  partition.seconds = std::max(partition.seconds, seconds);
  place_regions(std::move(regions), partition);
}

Result<Partition> pinned_partition(const Graph& graph, const ConcreteShapes& shapes,
                                   const Delegate& delegate, const PartitionOptions& options,
                                   const std::vector<std::vector<NodeId>>& wanted) {
  Partition result;
  result.placement.resize(graph.nodes.size());
  NodeKinds kinds{IdVector<NodeId, bool>(graph.nodes.size(), false),
                  IdVector<NodeId, bool>(graph.nodes.size(), false),
                  region_of(options.taken, graph.nodes.size())};
  auto in_parts = place_by_support(graph, shapes, delegate, options, result, kinds);
  const IdVector<NodeId, bool> run_time =
      place_run_time_nodes(graph, shapes, delegate, options, result, kinds);
  PX_RETURN_IF_ERROR(check_pinned(graph, result, kinds, run_time, wanted));
  const Dag edges = dag_of(graph);
  std::vector<std::vector<NodeId>> groups = wanted;
  for (const Region& region : options.taken) groups.push_back(region.nodes);
  if (!leave_no_cycle(edges, graph.nodes.size(), groups))
    return refuse_pinned("its regions wait for each other");
  for (const NodeId node : graph.nodes.ids())
    if (kinds.can_run[node] || kinds.bridge[node])
      result.placement[node] = {{}, {}, CpuReason::kPinned, "the plan is pinned so"};

  Pricer pricer(graph, options.assumed.empty() ? shapes : options.assumed, delegate, options.model,
                options.calibration, known_seconds(options, std::move(in_parts)), options.body);
  std::vector<Region> regions;
  for (const std::vector<NodeId>& nodes : wanted) {
    Region& region = regions.emplace_back();
    region.delegate = options.delegate;
    region.nodes = nodes;
    std::ranges::sort(region.nodes);
    region.run_time = run_time[region.nodes.front()];
    region.cost = pricer.region_cost(region.nodes);
    const Verdict verdict = pricer.judge(region.cost);
    if (verdict.reason == CpuReason::kMemory) return refuse_pinned(verdict.detail);
    region.verdict = {CpuReason::kNone, "the plan is pinned so"};
  }
  std::ranges::stable_sort(regions, {}, [](const Region& region) { return region.nodes.front(); });
  std::vector<Region> all(options.taken.begin(), options.taken.end());
  std::ranges::move(regions, std::back_inserter(all));
  const IdVector<NodeId, double> cpu_seconds = seconds_on_cpu(graph, pricer);
  result.seconds = !options.body.empty()
                       ? seconds_in_order(cpu_seconds, all)
                       : Overlap(edges, cpu_seconds, all).seconds(marks_of_offloaded(all));
  place_regions(std::move(all), result);
  return result;
}

}  // namespace parallax
