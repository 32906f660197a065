#include "session/delegated_plan.h"

#include <fmt/core.h>

#include <utility>

#include "base/status.h"
#include "bind/evaluate.h"
#include "lower/cpu/lower.h"
#include "lower/patterns/patterns.h"
#include "partition/cpu_share.h"
#include "partition/profile_toml.h"
#include "partition/rest.h"

namespace parallax {
namespace {

tl::unexpected<Error> refuse_delegate(std::string message) {
  return tl::unexpected(Error{Stage::kPartition, ErrorCode::kInvalidInput, {}, std::move(message)});
}

Result<PartitionOptions> partition_options(const PlanOptions& plan) {
  PartitionOptions options;
  options.model = plan.cost_model;
  options.offload = plan.offload;
  options.max_regions = plan.max_regions;
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

/// What the CPU takes for each node of `graph`, where it would run `lowered` in its place.
Result<IdVector<NodeId, double>> seconds_on_cpu(const Graph& graph, const ConcreteShapes& shapes,
                                                const Graph& lowered, const Binding& binding,
                                                const Delegate& delegate,
                                                const PartitionOptions& options) {
  PX_ASSIGN(const ConcreteShapes lowered_shapes, concrete_shapes(lowered, binding));
  const Pricer alone(graph, shapes, delegate, options.model, options.calibration);
  const Pricer together(lowered, lowered_shapes, delegate, options.model, options.calibration);
  return cpu_seconds(alone, together, computed_by(graph, lowered));
}

/// The regions, and what the passes of the CPU make of the rest.
Result<std::shared_ptr<GraphContext>> placed(DelegatedPlan& plan, const DelegatedOptions& options) {
  Graph rest = cpu_rest(plan.graph, plan.partition);
  if (!options.kernels.reference_only) {
    PX_ASSIGN(plan.lowering,
              run_passes(lowering_passes(), rest, {evaluate_node}, options.disabled_passes));
  }
  Placed all = put_together(plan.graph, plan.partition, std::move(rest));
  PX_RETURN_IF_ERROR(verify(all.graph, Stage::kPartition));
  Delegation delegation{std::move(all.region_of), {}, options.substitute};
  for (const Region& region : plan.partition.regions)
    delegation.seconds.push_back(region.cost.delegate_seconds);
  // Constants are shared, not copied.
  return std::make_shared<GraphContext>(std::move(all.graph), std::move(delegation),
                                        options.weights);
}

}  // namespace

Result<DelegatedPlan> bind_for_delegate(const Graph& canonical, const Graph& lowered,
                                        const Binding& binding, const Delegate& delegate,
                                        const PlanOptions& plan, const DelegatedOptions& options) {
  PX_ASSIGN(PartitionOptions partitioning, partition_options(plan));
  DelegatedPlan result;
  result.delegate = delegate.name;
  result.graph = canonical;
  const auto& has = delegate.operators;
  PX_RETURN_IF_ERROR(fuse_for([&](OpKind op) { return has.contains(op); }, result.graph,
                              {evaluate_node}, options.disabled_passes));
  PX_ASSIGN(const ConcreteShapes shapes, concrete_shapes(result.graph, binding));
  PX_ASSIGN(partitioning.cpu_seconds,
            seconds_on_cpu(result.graph, shapes, lowered, binding, delegate, partitioning));
  result.partition = partition(result.graph, shapes, delegate, partitioning);
  PX_ASSIGN(auto context, placed(result, options));
  PX_ASSIGN(auto compiled,
            compile(std::move(context), binding, options.kernels, options.refinement));
  PX_ASSIGN(result.bound, make_bound(std::move(compiled)));
  return result;
}

Result<DelegatedPlan> plan_for_delegate(const Graph& canonical, const Graph& lowered,
                                        const Binding& binding, const Delegate& delegate,
                                        const PlanOptions& plan, const DelegatedOptions& options) {
  PX_ASSIGN(DelegatedPlan result,
            bind_for_delegate(canonical, lowered, binding, delegate, plan, options));
  PX_ASSIGN(result.program, lay_out(result.bound, options.layout));
  return result;
}

Result<DelegatedPlan> plan_for_delegate(const Graph& canonical, const Graph& lowered,
                                        const Binding& binding, const PlanOptions& plan,
                                        const DelegatedOptions& options) {
  PX_ASSIGN(const DeviceProfile device, load_profile(plan.profile));
  if (!device.delegate) {
    return refuse_delegate(fmt::format("'{}' describes a device without a delegate", plan.profile));
  }
  return plan_for_delegate(canonical, lowered, binding, *device.delegate, plan, options);
}

}  // namespace parallax
