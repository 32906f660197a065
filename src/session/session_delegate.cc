// A session's use of delegates: plans for them, and the preparation of runs.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/status.h"
#include "delegate_host/delegate_device.h"
#include "planning/delegated_bodies.h"
#include "planning/measured_prices.h"
#include "session/session_impl.h"

namespace parallax {
namespace {

Error no_room_for_cpu() {
  return {Stage::kSession,
          ErrorCode::kBudgetExceeded,
          {},
          "the memory budget has no room for the CPU as the delegate's fallback"};
}

/// Refuses a plan that leaves a node to the CPU. Errors: kUnsupported.
Status check_full_delegation(const DelegatedPlan& plan) {
  const Graph& graph = plan.graph;
  int left = 0;
  std::string first;
  for (const NodeId node : graph.nodes.ids()) {
    if (plan.reasons[node].empty()) continue;
    if (left++ == 0)
      first = fmt::format("'{}' ({}), {}", graph.nodes[node].name, to_string(graph.nodes[node].op),
                          plan.reasons[node]);
  }
  if (left == 0) return {};
  return tl::unexpected(Error{
      Stage::kPartition,
      ErrorCode::kUnsupported,
      {},
      fmt::format("{} of {} nodes stay on the CPU, full delegation is required; the first: {}",
                  left, graph.nodes.size(), first)});
}

/// Returns the records of the times of each region of the model; null: nothing is recorded.
IdVector<RegionId, std::shared_ptr<RegionTimes>> region_times(
    const DelegatedPlan& plan, const std::vector<const SessionDelegate*>& delegates) {
  IdVector<RegionId, std::shared_ptr<RegionTimes>> times;
  std::vector<std::vector<std::string>> all_names = region_names(plan);
  for (const DelegatedPlan* const each : all_graphs(plan)) {
    for (const Region& region : each->partition.regions) {
      const SessionDelegate& delegate = *delegates[static_cast<std::size_t>(region.delegate)];
      if (delegate.rates == nullptr || region.cost.key == 0) {
        times.push_back(nullptr);
        continue;
      }
      std::vector<std::string>& names = all_names[times.size()];
      times.push_back(delegate.rates->times(region.cost.key, names.front(), region.cost.by_rates));
      delegate.placed->add(region.cost.key, std::move(names));
    }
  }
  return times;
}

/// Returns the record of the times of runs of a split model.
TimedSplit split_times(const DelegatedPlan& plan,
                       const std::vector<const SessionDelegate*>& delegates) {
  if (!plan.split || delegates.front()->rates == nullptr) return {};
  DelegateRates& rates = *delegates.front()->rates;
  const auto& [key, share, refused] = *plan.split;
  if (refused) rates.refuse_split(key, *refused);
  return {share, rates.split_times(key, share)};
}

/// Returns the question that a device answers about nodes; null if its delegate answers none.
NodeQuestion question_for(const std::shared_ptr<const OpenDelegate>& opened) {
  if (opened->table.functions.supports == nullptr) return nullptr;
  return [opened](const Graph& graph, const ConcreteShapes& shapes, NodeId node) {
    return refusal_of_node(*opened, graph, shapes, node);
  };
}

}  // namespace

std::vector<NamedDelegate> named(const std::vector<const SessionDelegate*>& delegates,
                                 const std::vector<Calibration>& calibrations) {
  std::set<std::string> names;
  for (const SessionDelegate* each : delegates) names.insert(each->use.opened->description().name);
  const bool by_profile = names.size() == delegates.size();
  std::vector<NamedDelegate> result;
  for (std::size_t i = 0; i < delegates.size(); ++i) {
    const Delegate& description = delegates[i]->use.opened->description();
    result.push_back({by_profile ? description.name : delegates[i]->spec, description,
                      i < calibrations.size() ? &calibrations[i] : nullptr,
                      question_for(delegates[i]->use.opened)});
  }
  return result;
}

std::vector<const SessionDelegate*> Session::Impl::opened() const {
  std::vector<const SessionDelegate*> result;
  for (const SessionDelegate& each : delegates)
    if (each.use.opened != nullptr) result.push_back(&each);
  return result;
}

Result<std::vector<Calibration>> Session::Impl::know_rates(const Binding& binding,
                                                           const PlanOptions& wanted, bool pinned,
                                                           DelegatedOptions& how) const {
  std::vector<Calibration> result;
  if (options.rates != Rates::kMeasured || wanted.cost_model != CostModel::kExact ||
      how.kernels.reference_only)
    return result;
  PX_ASSIGN(auto lowered, impl_of(model).forms->of(binding, how.kernels));
  PX_ASSIGN(how.whole, compile(std::move(lowered), binding, how.kernels, how.refinement));
  const std::set<WorkKind> kinds = work_kinds(*how.whole);
  for (const SessionDelegate* each : opened()) {
    Calibration& known = result.emplace_back(each->rates->known());
    if (wanted.offload != Offload::kProfitable) continue;
    if (launch_outweighs(*how.whole, each->use.opened->description(), known)) {
      assume_no_gain(kinds, known);
    } else if (!pinned && each->use.opened->is_here()) {
      each->rates->measure(each->use.opened, kinds, memory_of_probes(each->use));
      known = each->rates->known();
    }
  }
  return result;
}

Result<DelegatedPlan> Session::Impl::plan_regions(const Binding& binding, const PlanOptions& wanted,
                                                  const DelegatedOptions& how, bool lay_out) const {
  PX_ASSIGN(const auto canonical, impl_of(model).forms->canonical());
  PX_ASSIGN(const auto lowered, impl_of(model).forms->of(binding, how.kernels));
  if (!wanted.profile.empty())
    return plan_for_delegate(canonical->graph, lowered->graph, binding, wanted, how);
  std::optional<PinnedPlans::Regions> pinned;
  PlanPin* const pin = delegates.front().pin.get();
  if (pin != nullptr) {
    PX_ASSIGN(pinned, pin->find(canonical->graph, binding));
  }
  DelegatedOptions all = how;
  all.pinned = pinned ? &*pinned : nullptr;
  PlanOptions wanted_here = wanted;
  // A split plan has nodes that the model lacks, which the file could not name.
  wanted_here.co_execution = wanted.co_execution && pin == nullptr;
  PX_ASSIGN(const auto calibrations, know_rates(binding, wanted, pinned.has_value(), all));
  const auto plan = lay_out ? plan_for_delegates : bind_for_delegates;
  auto made = plan(canonical->graph, lowered->graph, binding, named(opened(), calibrations),
                   wanted_here, all);
  if (pin == nullptr) return made;
  if (!made) {
    Error error = std::move(made).error();
    error.message = fmt::format("the plan of '{}': {}", pin->file().string(), error.message);
    return tl::unexpected(std::move(error));
  }
  // A plan that leaves out refused regions must not be pinned.
  if (!how.refused.empty()) return made;
  PX_RETURN_IF_ERROR(pin->keep(canonical->graph, binding, region_names(*made), runtime->log));
  return made;
}

Result<DelegatedPlan> Session::Impl::delegated(const Binding& binding, const PlanOptions& wanted,
                                               const RunBudget& limit) const {
  PlanOptions options_of_plan = wanted;
  // For the delegates that the session runs, the session's options decide.
  if (wanted.profile.empty()) {
    options_of_plan.offload = options.offload;
    options_of_plan.co_execution = options.co_execution && !options.require_full_delegation;
  }
  const bool parallel = options.scheduler != Scheduler::kSequential;
  DelegatedOptions how{.kernels = {options.kernels == Kernels::kReference, options.precision},
                       .refinement = options.refinement,
                       .layout = {.parallel = parallel && limit.parallel,
                                  .threads = width,
                                  .budget = limit.bytes,
                                  .admission = options.admission},
                       .disabled_passes = impl_of(model).disabled_passes,
                       // As in the plan of a run, which has memory for the CPU as a fallback.
                       .substitute = wanted.profile.empty() && !options.require_full_delegation};
  if (wanted.profile.empty()) how.refused = refused_regions(binding);
  PX_ASSIGN(DelegatedPlan plan, plan_regions(binding, options_of_plan, how, true));
  // Runs that leave everything to the CPU use the plan of a session without a delegate.
  if (!how.refused.empty() && count_regions(plan) == 0) {
    PX_ASSIGN(plan.bound, bound_for_cpu(binding, how));
    PX_ASSIGN(plan.program, lay_out(plan.bound, how.layout));
  }
  return plan;
}

std::vector<RefusedRegion> Session::Impl::refused_regions(const Binding& binding) const {
  // Without the CPU as a fallback, a region is tried again.
  if (options.require_full_delegation) return {};
  return refusals.of(binding);
}

DelegatedOptions Session::Impl::options_of_regions(const Binding& binding) const {
  DelegatedOptions how;
  how.kernels = {options.kernels == Kernels::kReference, options.precision};
  how.refinement = options.refinement;
  how.disabled_passes = impl_of(model).disabled_passes;
  how.weights = impl_of(model).forms->plain()->weights;
  how.substitute = !options.require_full_delegation;
  how.refused = refused_regions(binding);
  return how;
}

/// Binds `binding` as without a delegate, in the version for which the CPU's weights are packed.
Result<std::shared_ptr<Bound>> Session::Impl::bound_for_cpu(const Binding& binding,
                                                            const DelegatedOptions& how) const {
  PX_ASSIGN(auto context, impl_of(model).forms->of(binding, how.kernels));
  PX_ASSIGN(auto compiled, compile(std::move(context), binding, how.kernels, how.refinement));
  return make_bound(std::move(compiled));
}

Result<std::shared_ptr<Bound>> Session::Impl::bound_for_delegate(const Binding& binding) const {
  PlanOptions wanted;
  wanted.offload = options.offload;
  wanted.co_execution = options.co_execution && !options.require_full_delegation;
  auto planned = std::make_shared<PlannedRegions>();
  planned->version = refusals.version();
  const DelegatedOptions how = options_of_regions(binding);
  PX_ASSIGN(DelegatedPlan plan, plan_regions(binding, wanted, how, false));
  if (options.require_full_delegation) PX_RETURN_IF_ERROR(check_full_delegation(plan));
  if (count_regions(plan) == 0) return bound_for_cpu(binding, how);
  for (std::vector<std::string>& names : region_origins(plan))
    planned->nodes.push_back(std::move(names));
  const std::vector<const SessionDelegate*> used = opened();
  std::vector<DelegateUse> uses;
  for (const SessionDelegate* each : used) uses.push_back(each->use);
  plan.bound->device = std::make_shared<DelegateDevice>(
      std::move(uses), plan.bound->compiled, region_times(plan, used), split_times(plan, used),
      std::move(planned));
  return plan.bound;
}

void Session::Impl::count_memory(DelegateUse& use) {
  if (use.opened == nullptr) return;
  const DeviceBudget budget = SessionBudget::for_devices(limits);
  const bool own = use.opened->memory == PX_MEMORY_DEVICE;
  std::int64_t most = use.opened->description().memory_bytes;
  if (own && options.delegate_memory_bytes > 0)
    most = std::min(most, options.delegate_memory_bytes);
  use.ledger =
      std::make_shared<DeviceLedger>(most, use.opened->in_host_memory ? budget : DeviceBudget{});
  if (!own) return;
  use.host = std::make_shared<DeviceLedger>(std::numeric_limits<std::int64_t>::max(), budget);
  use.pool = std::make_shared<DevicePool>(use.opened, use.ledger, use.host);
  account->add(use.pool);
}

Result<AdmittedRun> Session::Impl::admit(const Binding& binding, const Deadline& deadline,
                                         RunMemory::Spare spare) {
  auto run = admission.admit_again(binding, deadline, std::move(spare));
  const bool full = !run && run.error().code == ErrorCode::kBudgetExceeded;
  if (!full || !has_delegate() || options.require_full_delegation) return run;
  runtime->log.info(fmt::format("no plan with a delegate fits: {}", run.error().to_string()));
  return admit_on_cpu(binding, deadline);
}

Result<AdmittedRun> Session::Impl::admit_on_cpu(const Binding& binding, const Deadline& deadline) {
  const Refusals::CpuOnly cpu_only(refusals, binding, all_refused());
  leave_all_out(binding);
  auto run = admission.admit(binding, deadline);
  // So that the pause ends even if the refusals were removed meanwhile.
  refusals.add(binding, refusals.version(), all_refused());
  return run;
}

std::vector<RefusedRegion> Session::Impl::all_refused() const {
  std::vector<RefusedRegion> all;
  for (std::size_t i = 0; i < opened().size(); ++i)
    all.push_back({static_cast<int>(i), {}, Refusal::kMoment, no_room_for_cpu().to_string()});
  return all;
}

void Session::Impl::leave_all_out(const Binding& binding) {
  refusals.add(binding, refusals.version(), all_refused());
  plans.forget(binding);
}

ProbeMemory Session::Impl::memory_of_probes(const DelegateUse& use) const {
  const DeviceBudget budget = SessionBudget::for_probes(limits);
  ProbeMemory result{
      use.ledger, std::make_shared<DeviceLedger>(std::numeric_limits<std::int64_t>::max(), budget)};
  if (use.opened->in_host_memory)
    result.device =
        std::make_shared<DeviceLedger>(use.ledger->limit() - use.ledger->held(), budget);
  return result;
}

void Session::Impl::leave_out_refused(const Binding& binding, const Program& program,
                                      bool no_room) {
  if (!has_delegate() || options.require_full_delegation) return;
  try {
    if (no_room) return leave_all_out(binding);
    auto* const device = static_cast<DelegateDevice*>(program.bound->device.get());
    if (device != nullptr) {
      auto refused = device->take_refused();
      if (!refused.empty() && refusals.add(binding, device->planned()->version, std::move(refused)))
        return plans.forget(binding);
    }
    if (refusals.count_run(binding)) plans.forget(binding);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the plan is kept
  }
}

Status Session::Impl::prepare_regions(const Program& program, const Deadline& deadline) const {
  if (program.bound->device == nullptr) return {};
  return std::static_pointer_cast<DelegateDevice>(program.bound->device)
      ->prepare(runtime->log, deadline);
}

}  // namespace parallax
