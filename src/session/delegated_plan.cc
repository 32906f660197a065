#include "session/delegated_plan.h"

#include <fmt/core.h>

#include <utility>

#include "base/status.h"
#include "partition/profile_toml.h"

namespace parallax {
namespace {

tl::unexpected<Error> refuse(std::string message) {
  return tl::unexpected(Error{Stage::kPartition, ErrorCode::kInvalidInput, {}, std::move(message)});
}

Result<PartitionOptions> partition_options(const PlanOptions& plan) {
  PartitionOptions options;
  options.model = plan.cost_model;
  options.max_regions = plan.max_regions;
  if (plan.max_regions && *plan.max_regions < 0)
    return refuse(fmt::format("at most {} regions", *plan.max_regions));
  const bool measured = plan.cost_model == CostModel::kMeasured;
  if (measured && plan.calibration.empty())
    return refuse("the cost model 'measured' needs a calibration file");
  if (!measured && !plan.calibration.empty())
    return refuse("only the cost model 'measured' reads a calibration file");
  if (measured) {
    PX_ASSIGN(options.calibration, load_calibration(plan.calibration));
  }
  return options;
}

Delegation delegation_of(const Partition& partition) {
  Delegation delegation;
  for (const Placement& placement : partition.placement)
    delegation.region_of.push_back(placement.region);
  for (const Region& region : partition.regions)
    delegation.seconds.push_back(region.cost.delegate_seconds);
  return delegation;
}

}  // namespace

Result<DelegatedPlan> plan_for_delegate(const Graph& graph, const Binding& binding,
                                        const PlanOptions& plan, const DelegatedOptions& options) {
  PX_ASSIGN(const DeviceProfile device, load_profile(plan.profile));
  if (!device.delegate) {
    return refuse(fmt::format("'{}' describes a device without a delegate", plan.profile));
  }
  PX_ASSIGN(const PartitionOptions partitioning, partition_options(plan));
  PX_ASSIGN(const ConcreteShapes shapes, concrete_shapes(graph, binding));
  DelegatedPlan result;
  result.delegate = device.delegate->name;
  result.partition = partition(graph, shapes, *device.delegate, partitioning);
  // Constants are shared, not copied.
  const auto context = std::make_shared<GraphContext>(graph, delegation_of(result.partition));
  PX_ASSIGN(auto compiled, compile(context, binding, options.kernels, options.refinement));
  PX_ASSIGN(result.program, lay_out(std::move(compiled), options.layout));
  return result;
}

}  // namespace parallax
