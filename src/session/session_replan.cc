// What a session makes of the times that regions take: a region that loses goes back to the CPU.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "base/status.h"
#include "delegate/delegate_device.h"
#include "session/session_impl.h"

namespace parallax {
namespace {

/// A region that takes so much more or less than the plan was made by calls for another look.
constexpr double kSurprise = 0.15;
/// Another placement must be predicted to save as much of the whole: predictions are not exact, and
/// a new plan packs weights.
constexpr double kWorthReplanning = 0.03;

bool is_surprising(const DelegateDevice& device, const Delegation& delegation) {
  for (const RegionId region : delegation.seconds.ids()) {
    if (!device.times().contains(region)) return false;
    if (device.times()[region] == nullptr) continue;
    const std::optional<double> took = device.times()[region]->median();
    const double planned = delegation.seconds[region];
    if (took && std::fabs(*took - planned) > kSurprise * planned) return true;
  }
  return false;
}

bool has_region(const Partition& partition, std::uint64_t key) {
  return std::ranges::any_of(partition.regions,
                             [&](const Region& region) { return region.cost.key == key; });
}

}  // namespace

void Session::Impl::learn(const Binding& binding, const Program& program) {
  // Of several delegates nothing says what the others would make of a region that one gives back;
  // what is split has other nodes than the model. Later plans go by what runs took all the same.
  if (program.bound->device == nullptr || options.rates != Rates::kMeasured ||
      delegates.size() != 1 || delegates.front().pin != nullptr || options.co_execution ||
      options.offload == Offload::kAll || options.require_full_delegation)
    return;
  auto& device = static_cast<DelegateDevice&>(*program.bound->device);
  if (!device.count_run() || !is_surprising(device, program.compiled().context->delegation)) return;
  try {
    if (Status status = replan(binding, program); !status)
      runtime->log.info(fmt::format("the plan stays: {}", status.error().to_string()));
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the plan stays
  }
}

Status Session::Impl::replan(const Binding& binding, const Program& program) {
  const auto& times = static_cast<DelegateDevice&>(*program.bound->device).times();
  PX_ASSIGN(const auto canonical, model.impl().forms->canonical());
  DelegatedOptions how = options_of_regions();
  PX_ASSIGN(const auto lowered, model.impl().forms->of(binding, how.kernels));
  const PlanOptions wanted;
  PX_ASSIGN(const auto calibrations, know_rates(binding, wanted, true, how));
  const SessionDelegate& delegate = delegates.front();
  const auto place = [&] {
    return place_for_delegates(canonical->graph, lowered->graph, binding,
                               named(opened(), calibrations), wanted, how);
  };
  PX_ASSIGN(const DelegatedPlan next, place());
  PinnedPlans::Regions current;
  for (const auto& region : times) {
    if (region == nullptr) return {};
    current.push_back(delegate.placed->names(region->key));
  }
  how.pinned = &current;
  PX_ASSIGN(const DelegatedPlan now, place());
  if (next.partition.seconds >= now.partition.seconds * (1 - kWorthReplanning)) return {};

  for (const Region& region : now.partition.regions) {
    if (has_region(next.partition, region.cost.key)) continue;
    const std::string& node = now.graph.nodes[region.nodes.front()].name;
    const std::string why = fmt::format(
        "runs took {:.4g} ms on it, the CPU is predicted to take {:.4g} ms; the whole {:.4g} ms "
        "instead of {:.4g} ms",
        region.cost.delegate_seconds * 1e3, region.cost.cpu_seconds * 1e3,
        next.partition.seconds * 1e3, now.partition.seconds * 1e3);
    runtime->log.info(
        fmt::format("the region of node '{}' goes back from delegate '{}' to the "
                    "CPU: {}",
                    node, delegate.spec, why));
    delegate.placed->give_back({node, why});
  }
  plans.forget(binding);
  return {};
}

}  // namespace parallax
