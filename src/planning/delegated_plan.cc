#include "planning/delegated_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/status.h"
#include "bind/evaluate.h"
#include "device/profile_toml.h"
#include "lower/patterns/patterns.h"
#include "partition/cpu_share.h"
#include "partition/remainder.h"
#include "partition/split/co_execution.h"
#include "planning/asked_nodes.h"
#include "planning/delegated_bodies.h"
#include "planning/measured_prices.h"

namespace parallax {
namespace {

tl::unexpected<Error> refuse_delegate(std::string message) {
  return tl::unexpected(Error{Stage::kPartition, ErrorCode::kInvalidInput, {}, std::move(message)});
}

/// Converts the options. `timed`: times measured on the delegate; null: not measured.
Result<PartitionOptions> partition_options(const PlanOptions& plan, const Calibration* timed,
                                           const std::string& body) {
  PartitionOptions options;
  options.model = plan.cost_model;
  options.offload = plan.offload;
  options.max_regions = plan.max_regions;
  options.body = body;
  if (timed != nullptr) {
    options.model = CostModel::kMeasured;
    options.calibration = *timed;
    return options;
  }
  if (plan.max_regions && *plan.max_regions < 0)
    return refuse_delegate(fmt::format("at most {} regions", *plan.max_regions));
  const bool measured = plan.cost_model == CostModel::kMeasured;
  if (measured && plan.calibration.empty())
    return refuse_delegate("the cost model 'measured' needs a calibration file");
  if (!measured && !plan.calibration.empty())
    return refuse_delegate("only the cost model 'measured' reads a calibration file");
  if (measured) {
    PX_ASSIGN(options.calibration, load_calibration(plan.calibration));
  }
  return options;
}

/// Returns the sizes under `binding`; sizes that only a run determines are assumed if `options`
/// prices nodes by assumed sizes.
Result<ConcreteShapes> shapes_for_prices(const Graph& graph, const Binding& binding,
                                         const PartitionOptions& options) {
  if (!options.assumed.empty()) return assumed_shapes(graph, binding);
  return concrete_shapes(graph, binding);
}

/// Returns the time of each node of `graph` on a CPU that runs `lowered` instead.
Result<IdVector<NodeId, double>> seconds_on_cpu(const Graph& graph, const ConcreteShapes& shapes,
                                                const Graph& lowered, const Binding& binding,
                                                const Delegate& delegate,
                                                const PartitionOptions& options) {
  PX_ASSIGN(const ConcreteShapes lowered_shapes, shapes_for_prices(lowered, binding, options));
  const Pricer alone(graph, shapes, delegate, options.model, options.calibration);
  const Pricer together(lowered, lowered_shapes, delegate, options.model, options.calibration);
  return cpu_seconds(alone, together, computed_by(graph, lowered));
}

std::function<bool(OpKind)> takes(const Delegate& delegate) {
  return [&delegate](OpKind op) { return delegate.operators.contains(op); };
}

/// Fuses the patterns that `delegate` supports in the nodes that those before it left. Their
/// regions keep their numbers; nodes of the graph do not.
Status fuse_rest(const Delegate& delegate, const DelegatedOptions& options, DelegatedPlan& plan) {
  Graph remainder = cpu_remainder(plan.graph, plan.partition);
  PX_ASSIGN(const int changes,
            fuse_for(takes(delegate), remainder, {evaluate_node}, options.disabled_passes));
  if (changes == 0) return {};
  std::unordered_map<std::string, std::string> reasons;
  std::vector<std::vector<std::string>> returned;
  for (const NodeId id : plan.graph.nodes.ids())
    reasons.emplace(plan.graph.nodes[id].name, std::move(plan.reasons[id]));
  for (const Region& region : plan.partition.returned)
    for (auto& names = returned.emplace_back(); const NodeId id : region.nodes)
      names.push_back(plan.graph.nodes[id].name);

  PartitionedGraph all = merge_regions(plan.graph, plan.partition, std::move(remainder));
  plan.graph = std::move(all.graph);
  plan.partition.placement = IdVector<NodeId, Placement>(plan.graph.nodes.size());
  plan.reasons = IdVector<NodeId, std::string>(plan.graph.nodes.size());
  std::unordered_map<std::string, NodeId> by_name;
  for (Region& region : plan.partition.regions) region.nodes.clear();
  for (const NodeId id : plan.graph.nodes.ids()) {
    if (const RegionId region = all.region_of[id]; region.valid()) {
      plan.partition.placement[id].region = region;
      plan.partition.regions[region].nodes.push_back(id);
      continue;
    }
    by_name.emplace(plan.graph.nodes[id].name, id);
    plan.reasons[id] = reasons[plan.graph.nodes[id].name];
  }
  // Candidates that were returned to the CPU are for reports only.
  IdVector<RegionId, Region> left;
  for (const RegionId id : plan.partition.returned.ids()) {
    Region region = std::move(plan.partition.returned[id]);
    region.nodes.clear();
    for (const std::string& name : returned[static_cast<std::size_t>(id.value)])
      if (const auto found = by_name.find(name); found != by_name.end())
        region.nodes.push_back(found->second);
    if (!region.nodes.empty()) left.push_back(std::move(region));
  }
  plan.partition.returned = std::move(left);
  return {};
}

/// The model as the CPU alone would run it, and its sizes.
struct WholeModel {
  const Graph& lowered;
  const Binding& binding;
  const DelegatedOptions& how;
};

/// Sets the times of each node without bodies, on the CPU and on the delegate, under the sizes that
/// `options` may assume.
Status add_own_prices(const Graph& graph, const WholeModel& whole, const Delegate& delegate,
                      PartitionOptions& options) {
  PX_ASSIGN(const ConcreteShapes shapes, shapes_for_prices(graph, whole.binding, options));
  if (whole.how.whole != nullptr && !options.calibration.samples.empty()) {
    PX_ASSIGN(const ConcreteShapes lowered_shapes,
              shapes_for_prices(whole.how.whole->graph(), whole.binding, options));
    MeasuredPrices prices = measured_prices(graph, shapes, delegate, *whole.how.whole,
                                            lowered_shapes, options.calibration);
    options.cpu_seconds = std::move(prices.cpu);
    options.delegate_seconds = std::move(prices.delegate);
    return {};
  }
  PX_ASSIGN(options.cpu_seconds,
            seconds_on_cpu(graph, shapes, whole.lowered, whole.binding, delegate, options));
  return {};
}

Status add_prices(const DelegatedPlan& plan, const WholeModel& whole, const Delegate& delegate,
                  PartitionOptions& options) {
  PX_RETURN_IF_ERROR(add_own_prices(plan.graph, whole, delegate, options));
  add_seconds_of_bodies(plan.bodies, plan.graph, options.cpu_seconds);
  return {};
}

Result<std::vector<std::vector<NodeId>>> nodes_of_names(
    const Graph& graph, const std::vector<std::vector<std::string>>& names) {
  std::unordered_map<std::string_view, NodeId> by_name;
  for (const NodeId id : graph.nodes.ids()) by_name.emplace(graph.nodes[id].name, id);
  std::vector<std::vector<NodeId>> regions;
  for (const std::vector<std::string>& region : names) {
    std::vector<NodeId>& nodes = regions.emplace_back();
    for (const std::string& name : region) {
      const auto found = by_name.find(name);
      if (found == by_name.end())
        return refuse_delegate(fmt::format("there is no node '{}' to give to the delegate", name));
      nodes.push_back(found->second);
    }
  }
  return regions;
}

/// Returns the pinned regions of this graph and delegate. A region belongs to the graph of its
/// first node.
std::vector<std::vector<std::string>> pinned_here(const DelegatedOptions& how, int delegate,
                                                  const DelegatedPlan& plan) {
  std::set<std::string> in_bodies, here;
  for (const BodyPlan& body : plan.bodies)
    for (const auto& names : region_names(body.plan)) in_bodies.insert(names.front());
  for (const Node& node : plan.graph.nodes) here.insert(plan.body + node.name);
  std::vector<std::vector<std::string>> result;
  for (std::size_t i = 0; i < how.pinned->size(); ++i) {
    if (!how.pinned_to.empty() && how.pinned_to[i] != delegate) continue;
    const std::vector<std::string>& region = (*how.pinned)[i];
    const std::string first = region.empty() ? "" : region.front();
    // The outermost graph refuses nodes that are in no graph.
    if (in_bodies.contains(first) || (!plan.body.empty() && !here.contains(first))) continue;
    auto& names = result.emplace_back();
    for (const std::string& name : region)
      names.push_back(name.starts_with(plan.body) ? name.substr(plan.body.size()) : name);
  }
  return result;
}

/// Returns PartitionOptions::refused for delegate number `number`.
IdVector<NodeId, std::string> refused_nodes(const DelegatedPlan& plan, int number,
                                            const std::vector<RefusedRegion>& refused) {
  std::string all;
  std::unordered_map<std::string_view, std::string_view> by_name;
  for (const RefusedRegion& region : refused) {
    if (region.delegate != number) continue;
    if (region.nodes.empty()) all = region.why;
    for (const std::string& name : region.nodes) by_name.emplace(name, region.why);
  }
  IdVector<NodeId, std::string> result;
  if (all.empty() && by_name.empty()) return result;
  for (const Node& node : plan.graph.nodes) {
    const auto found = by_name.find(plan.body + node.name);
    result.push_back(found == by_name.end() ? all : std::string(found->second));
  }
  return result;
}

/// Chooses the regions of delegate number options.delegate, or returns the pinned ones.
Result<Partition> regions_of(const DelegatedPlan& plan, const ConcreteShapes& shapes,
                             const Delegate& delegate, const PartitionOptions& options,
                             const DelegatedOptions& how) {
  const Graph& graph = plan.graph;
  if (how.pinned == nullptr) return partition(graph, shapes, delegate, options);
  PX_ASSIGN(auto regions, nodes_of_names(graph, pinned_here(how, options.delegate, plan)));
  std::erase_if(regions, [&](const std::vector<NodeId>& nodes) {
    return std::ranges::any_of(nodes, [&](NodeId node) { return options.refuses(node); });
  });
  return pinned_partition(graph, shapes, delegate, options, regions);
}

/// Adds the regions of delegate number `number`, from the nodes that those before it left.
Status add_regions(const NamedDelegate& delegate, int number, const WholeModel& whole,
                   PartitionOptions options, bool names, DelegatedPlan& plan) {
  PX_ASSIGN(const ConcreteShapes shapes, concrete_shapes(plan.graph, whole.binding));
  if (whole.how.pinned != nullptr && delegate.description.dynamic_shapes)
    options.assumed = assumed_shapes(plan.graph, whole.binding);
  PX_RETURN_IF_ERROR(add_prices(plan, whole, delegate.description, options));
  if (options.max_regions) *options.max_regions -= count_regions(plan);
  options.delegate = number;
  options.taken = std::move(plan.partition.regions);
  PX_ASSIGN(Partition next, regions_of(plan, shapes, delegate.description, options, whole.how));
  for (const NodeId id : plan.graph.nodes.ids()) {
    std::string& reason = plan.reasons[id];
    if (next.placement[id].reason == CpuReason::kNone) {
      reason.clear();
      continue;
    }
    if (!reason.empty()) reason += "; ";
    reason += (names ? delegate.name + ": " : "") + cpu_reason(next, id);
  }
  for (Region& region : plan.partition.returned) next.returned.push_back(std::move(region));
  plan.partition = std::move(next);
  return {};
}

/// Replaces the graph by one with split operators if that is faster.
Status split(const NamedDelegate& delegate, const WholeModel& whole, PartitionOptions options,
             DelegatedPlan& plan) {
  PX_RETURN_IF_ERROR(add_prices(plan, whole, delegate.description, options));
  auto found =
      co_execution(plan.graph, whole.binding, delegate.description, options, plan.partition);
  if (!found) return {};
  plan.co_execution = to_string(*found, delegate.description, plan.partition.seconds);
  plan.split = {found->key, found->share, found->refused};
  for (const NodeId origin : found->origins)
    plan.origins.push_back(origin.valid() ? plan.graph.nodes[origin].name : "");
  plan.graph = std::move(found->graph);
  plan.partition = std::move(found->partition);
  plan.partition.seconds = found->seconds;
  plan.reasons = IdVector<NodeId, std::string>(plan.graph.nodes.size());
  for (const NodeId id : plan.graph.nodes.ids())
    if (plan.partition.placement[id].reason != CpuReason::kNone)
      plan.reasons[id] = cpu_reason(plan.partition, id);
  return {};
}

/// Adds the regions of delegate number `number` whose sizes only a run determines, after all
/// others. Bodies get none: their regions are bound once for all trips.
Status add_run_time(const NamedDelegate& delegate, int number, const WholeModel& whole,
                    PartitionOptions options, DelegatedPlan& plan) {
  if (!delegate.description.dynamic_shapes || whole.how.pinned != nullptr) return {};
  if (!plan.body.empty()) return {};
  PX_ASSIGN(const ConcreteShapes shapes, concrete_shapes(plan.graph, whole.binding));
  options.delegate = number;
  options.refused = {};  // already in the placement
  options.assumed = assumed_shapes(plan.graph, whole.binding);
  PX_RETURN_IF_ERROR(add_prices(plan, whole, delegate.description, options));
  const IdVector<NodeId, Placement> before = plan.partition.placement;
  add_run_time_regions(plan.graph, shapes, delegate.description, options, plan.partition);
  for (const NodeId id : plan.graph.nodes.ids()) {
    if (before[id].reason != CpuReason::kDynamicShape) continue;
    // The last reason is this delegate's.
    std::string& reason = plan.reasons[id];
    const std::string old = fmt::format("{}: {}", to_string(before[id].reason), before[id].detail);
    if (plan.partition.placement[id].reason == CpuReason::kNone) {
      reason.clear();
    } else if (reason.ends_with(old)) {
      reason.replace(reason.size() - old.size(), old.size(), cpu_reason(plan.partition, id));
    }
  }
  return {};
}

/// Makes the graph that runs: the regions, and the rest after the CPU's passes. Constants that
/// splits and passes make belong to this plan alone.
Result<std::shared_ptr<GraphContext>> placed(const Graph& canonical, DelegatedPlan& plan,
                                             const DelegatedOptions& options) {
  number_regions(plan);
  PX_ASSIGN(PlacedGraph all, put_into_graph(plan, options));
  PX_RETURN_IF_ERROR(verify(all.graph, Stage::kPartition));
  // Constants are shared, not copied.
  const ConstantPlaces models = places_of(canonical);
  return std::make_shared<GraphContext>(std::move(all.graph), std::move(all.delegation),
                                        options.weights, &models);
}

}  // namespace

Result<DelegatedPlan> place_for_delegates(const Graph& canonical, const Graph& lowered,
                                          const Binding& binding,
                                          std::span<const NamedDelegate> delegates,
                                          const PlanOptions& plan,
                                          const DelegatedOptions& options) {
  if (options.pinned != nullptr && options.pinned_to.empty() && delegates.size() > 1)
    return tl::unexpected(Error{Stage::kPartition,
                                ErrorCode::kUnsupported,
                                {},
                                "a plan is pinned for one delegate, not for several"});
  DelegatedPlan result;
  result.graph = canonical;
  result.body = options.body;
  PX_ASSIGN(result.bodies, plan_bodies(canonical, lowered, binding, delegates, plan, options));
  for (const NamedDelegate& delegate : delegates) {
    PX_ASSIGN(PartitionOptions partitioning,
              partition_options(plan, delegate.calibration, options.body));
    if (!result.delegates.empty()) {
      PX_RETURN_IF_ERROR(fuse_rest(delegate.description, options, result));
    } else {
      PX_RETURN_IF_ERROR(fuse_for(takes(delegate.description), result.graph, {evaluate_node},
                                  options.disabled_passes));
      result.reasons = IdVector<NodeId, std::string>(result.graph.nodes.size());
    }
    const WholeModel whole{lowered, binding, options};
    const int number = static_cast<int>(result.delegates.size());
    partitioning.ask = delegate.ask;
    partitioning.refused = refused_nodes(result, number, options.refused);
    PX_RETURN_IF_ERROR(add_refusals(result, binding, delegate, partitioning.refused));
    PX_RETURN_IF_ERROR(
        add_regions(delegate, number, whole, partitioning, delegates.size() > 1, result));
    result.delegates.push_back(delegate.name);
    // Operators are not split among several delegates: the CPU has too little work for each.
    if (plan.co_execution && delegates.size() == 1 && options.pinned == nullptr)
      PX_RETURN_IF_ERROR(split(delegate, whole, partitioning, result));
    PX_RETURN_IF_ERROR(add_run_time(delegate, number, whole, partitioning, result));
  }
  return result;
}

Result<DelegatedPlan> bind_for_delegates(const Graph& canonical, const Graph& lowered,
                                         const Binding& binding,
                                         std::span<const NamedDelegate> delegates,
                                         const PlanOptions& plan, const DelegatedOptions& options) {
  PX_ASSIGN(DelegatedPlan result,
            place_for_delegates(canonical, lowered, binding, delegates, plan, options));
  PX_ASSIGN(auto context, placed(canonical, result, options));
  PX_ASSIGN(auto compiled,
            compile(std::move(context), binding, options.kernels, options.refinement));
  PX_ASSIGN(result.bound, make_bound(std::move(compiled)));
  return result;
}

Result<DelegatedPlan> plan_for_delegates(const Graph& canonical, const Graph& lowered,
                                         const Binding& binding,
                                         std::span<const NamedDelegate> delegates,
                                         const PlanOptions& plan, const DelegatedOptions& options) {
  PX_ASSIGN(DelegatedPlan result,
            bind_for_delegates(canonical, lowered, binding, delegates, plan, options));
  PX_ASSIGN(result.program, lay_out(result.bound, options.layout));
  return result;
}

Result<DelegatedPlan> plan_for_delegate(const Graph& canonical, const Graph& lowered,
                                        const Binding& binding, const PlanOptions& plan,
                                        const DelegatedOptions& options) {
  PX_ASSIGN(const DeviceProfile device, load_profile(plan.profile));
  if (!device.delegate) {
    return refuse_delegate(
        fmt::format("'{}' describes a device without a delegate", plan.profile.string()));
  }
  const NamedDelegate only{device.delegate->name, *device.delegate};
  return plan_for_delegates(canonical, lowered, binding, {&only, 1}, plan, options);
}

}  // namespace parallax
