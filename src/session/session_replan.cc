// What a session makes of the times that regions take: a region that loses goes back to the CPU.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "base/status.h"
#include "delegate/delegate_device.h"
#include "session/delegated_bodies.h"
#include "session/session_impl.h"

namespace parallax {
namespace {

/// A region that takes so much more or less than the plan was made by calls for another look.
constexpr double kSurprise = 0.15;
/// Another placement must be predicted to save as much of the whole: predictions are not exact, and
/// a new plan packs weights.
constexpr double kWorthReplanning = 0.03;

/// By regions of the graph or of its bodies.
bool is_surprising(const DelegateDevice& device, const Delegation& delegation) {
  for (const RegionId region : delegation.seconds.ids()) {
    const RegionId number{delegation.first + region.value};
    if (!device.times().contains(number)) return false;
    if (device.times()[number] == nullptr) continue;
    const std::optional<double> took = device.times()[number]->median();
    const double planned = delegation.seconds[region];
    if (took && std::fabs(*took - planned) > kSurprise * planned) return true;
  }
  return std::ranges::any_of(delegation.bodies, [&](const auto& node) {
    return std::ranges::any_of(node.second,
                               [&](const Delegation& body) { return is_surprising(device, body); });
  });
}

bool has_region(const DelegatedPlan& plan, std::uint64_t key) {
  return std::ranges::any_of(all_graphs(plan), [&](const DelegatedPlan* graph) {
    return std::ranges::any_of(graph->partition.regions,
                               [&](const Region& region) { return region.cost.key == key; });
  });
}

}  // namespace

void Session::Impl::learn(const Binding& binding, const Program& program) {
  // Of several delegates nothing says what the others would make of a region that one gives back.
  if (program.bound->device == nullptr || options.rates != Rates::kMeasured ||
      delegates.size() != 1 || delegates.front().pin != nullptr ||
      options.offload == Offload::kAll || options.require_full_delegation)
    return;
  auto& device = static_cast<DelegateDevice&>(*program.bound->device);
  const TimedSplit& split = device.split();
  if (!device.count_run()) return;
  try {
    if (split.seconds != nullptr) return learn_split(binding, split);
    // What may be split has other nodes than the model. Later plans go by what runs took all the
    // same.
    if (options.co_execution || !is_surprising(device, program.compiled().context->delegation))
      return;
    if (Status status = replan(binding, program); !status)
      runtime->log.info(fmt::format("the plan stays: {}", status.error().to_string()));
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the plan stays
  }
}

/// Plans anew where runs of a split should say whether another share of the rows takes less.
void Session::Impl::learn_split(const Binding& binding, const TimedSplit& split) {
  const auto next = next_share(delegates.front().rates->known(), split.seconds->key);
  if (!next || *next == split.share) return;
  runtime->log.info(fmt::format("next, the delegate gets {} of {} rows instead of {}", *next,
                                kShares, split.share));
  plans.forget(binding);
}

Status Session::Impl::replan(const Binding& binding, const Program& program) {
  const auto& times = static_cast<DelegateDevice&>(*program.bound->device).times();
  PX_ASSIGN(const auto canonical, model.impl().forms->canonical());
  DelegatedOptions how = options_of_regions(binding);
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

  for (const DelegatedPlan* const graph : all_graphs(now)) {
    for (const Region& region : graph->partition.regions) {
      if (has_region(next, region.cost.key)) continue;
      const std::string node = graph->body + graph->graph.nodes[region.nodes.front()].name;
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
  }
  plans.forget(binding);
  return {};
}

}  // namespace parallax
