// Replanning with measured times: a region that is slower than predicted returns to the CPU.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "base/status.h"
#include "delegate_host/delegate_device.h"
#include "planning/delegated_bodies.h"
#include "session/session_impl.h"

namespace parallax {
namespace {

/// A session plans again if the time of a region differs from the predicted one by this share.
constexpr double kSurprise = 0.15;
/// Another placement must be predicted to save this share of the whole time: predictions are not
/// exact, and a new plan packs weights.
constexpr double kWorthReplanning = 0.03;

/// Whether a region of the graph or of its bodies differs so much from its predicted time. Bodies
/// are nested at most LoadOptions::max_nesting deep.
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

bool has_region(const DelegatedPlan& plan, std::uint64_t key, int delegate) {
  return std::ranges::any_of(all_graphs(plan), [&](const DelegatedPlan* graph) {
    return std::ranges::any_of(graph->partition.regions, [&](const Region& region) {
      return region.cost.key == key && region.delegate == delegate;
    });
  });
}

/// Returns the delegate of each region of the model, by the numbers of DelegateDevice::times().
void add_delegates(const Delegation& delegation, std::vector<int>& delegates) {
  for (const RegionId region : delegation.seconds.ids())
    delegates[static_cast<std::size_t>(delegation.first + region.value)] =
        static_cast<int>(delegation.delegate_of(region));
  for (const auto& [node, bodies] : delegation.bodies)
    for (const Delegation& body : bodies) add_delegates(body, delegates);
}

/// Returns the number of the delegate that runs a node of the graph whose names begin with `body`;
/// nullopt if the CPU runs it.
std::optional<int> delegate_of(const DelegatedPlan& plan, const std::string& body,
                               const std::string& node) {
  for (const DelegatedPlan* const graph : all_graphs(plan)) {
    if (graph->body != body) continue;
    for (const Region& region : graph->partition.regions)
      for (const NodeId id : region.nodes)
        if (graph->graph.nodes[id].name == node) return region.delegate;
  }
  return std::nullopt;
}

/// Reports the regions that their delegates no longer run, and why.
void tell_returned(const DelegatedPlan& now, const DelegatedPlan& next,
                   const std::vector<const SessionDelegate*>& used, const Logger& log) {
  for (const DelegatedPlan* const graph : all_graphs(now)) {
    for (const Region& region : graph->partition.regions) {
      if (has_region(next, region.cost.key, region.delegate)) continue;
      const SessionDelegate& delegate = *used[static_cast<std::size_t>(region.delegate)];
      const std::string& node = graph->graph.nodes[region.nodes.front()].name;
      const auto taker = delegate_of(next, graph->body, node);
      const bool moves = taker && *taker != region.delegate;
      const std::string to =
          moves ? fmt::format("delegate '{}'", used[static_cast<std::size_t>(*taker)]->spec)
                : "the CPU";
      const std::string why =
          fmt::format("runs took {:.4g} ms on it, {}; the whole {:.4g} ms instead of {:.4g} ms",
                      region.cost.delegate_seconds * 1e3,
                      moves ? to + " gets it"
                            : fmt::format("the CPU is predicted to take {:.4g} ms",
                                          region.cost.cpu_seconds * 1e3),
                      next.partition.seconds * 1e3, now.partition.seconds * 1e3);
      log.info(fmt::format("the region of node '{}' moves from delegate '{}' to {}: {}",
                           graph->body + node, delegate.spec, to, why));
      delegate.placed->give_back({graph->body + node, why});
    }
  }
}

}  // namespace

void Session::Impl::learn(const Binding& binding, const Program& program) {
  if (program.bound->device == nullptr || options.rates != Rates::kMeasured ||
      delegates.front().pin != nullptr || options.offload == Offload::kAll ||
      options.require_full_delegation)
    return;
  auto& device = static_cast<DelegateDevice&>(*program.bound->device);
  const TimedSplit& split = device.split();
  if (!device.count_run()) return;
  try {
    if (split.seconds != nullptr) return learn_split(binding, split);
    if (!is_surprising(device, program.compiled().context->delegation)) return;
    if (Status status = replan(binding, program); !status)
      runtime->log.info(fmt::format("the plan is kept: {}", status.error().to_string()));
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the plan is kept
  }
}

/// Plans again if runs should show whether another split of the rows is faster, or that splitting
/// them does not pay.
void Session::Impl::learn_split(const Binding& binding, const TimedSplit& split) {
  // Rows are never split among several delegates.
  const auto next = next_share(opened().front()->rates->known(), split.seconds->key);
  if (!next) return;
  PlanOptions wanted;
  wanted.co_execution = true;
  DelegatedOptions how = options_of_regions(binding);
  const auto canonical = impl_of(model).forms->canonical();
  const auto lowered = impl_of(model).forms->of(binding, how.kernels);
  const auto calibrations = know_rates(binding, wanted, true, how);
  if (!canonical || !lowered || !calibrations) return;
  const auto made = place_for_delegates((*canonical)->graph, (*lowered)->graph, binding,
                                        named(opened(), *calibrations), wanted, how);
  if (!made || (made->split && *next == split.share)) return;
  if (made->split) {
    runtime->log.info(fmt::format("next, the delegate gets {} of {} rows instead of {}", *next,
                                  kShares, split.share));
  } else {
    runtime->log.info("rows are no longer shared with the delegate: runs took longer than without");
  }
  plans.forget(binding);
}

Status Session::Impl::replan(const Binding& binding, const Program& program) {
  const auto& times = static_cast<DelegateDevice&>(*program.bound->device).times();
  PX_ASSIGN(const auto canonical, impl_of(model).forms->canonical());
  DelegatedOptions how = options_of_regions(binding);
  PX_ASSIGN(const auto lowered, impl_of(model).forms->of(binding, how.kernels));
  // The next plan may split other nodes than this one.
  const PlanOptions wanted;
  PX_ASSIGN(const auto calibrations, know_rates(binding, wanted, true, how));
  const std::vector<const SessionDelegate*> used = opened();
  const auto place = [&] {
    return place_for_delegates(canonical->graph, lowered->graph, binding, named(used, calibrations),
                               wanted, how);
  };
  PX_ASSIGN(const DelegatedPlan next, place());
  PinnedPlans::Regions current;
  how.pinned_to.resize(times.size());
  add_delegates(program.compiled().context->delegation, how.pinned_to);
  for (const auto& region : times) {
    if (region == nullptr) return {};
    const auto number = static_cast<std::size_t>(how.pinned_to[current.size()]);
    current.push_back(used[number]->placed->names(region->key));
  }
  how.pinned = &current;
  PX_ASSIGN(const DelegatedPlan now, place());
  if (next.partition.seconds >= now.partition.seconds * (1 - kWorthReplanning)) return {};
  tell_returned(now, next, used, runtime->log);
  plans.forget(binding);
  return {};
}

}  // namespace parallax
