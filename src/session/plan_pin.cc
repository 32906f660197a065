#include "session/plan_pin.h"

#include <fmt/core.h>

#include <utility>

#include "base/status.h"
#include "partition/region_key.h"

namespace parallax {
namespace {

/// Of all nodes; with the sizes of a binding, or, empty, without.
std::uint64_t key_of_graph(const Graph& graph, const ConcreteShapes& shapes) {
  std::vector<NodeId> nodes;
  for (const NodeId id : graph.nodes.ids()) nodes.push_back(id);
  return region_key(node_keys(graph, shapes), nodes);
}

Result<std::uint64_t> key_of_sizes(const Graph& graph, const Binding& binding) {
  PX_ASSIGN(const ConcreteShapes shapes, concrete_shapes(graph, binding));
  return key_of_graph(graph, shapes);
}

}  // namespace

Result<std::shared_ptr<PlanPin>> PlanPin::open(const std::filesystem::path& file,
                                               const std::string& delegate,
                                               const Graph& canonical) {
  std::shared_ptr<PlanPin> pin(new PlanPin(file));
  PinnedPlans plans{delegate, key_of_graph(canonical, {}), {}};
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) {
    PX_ASSIGN(PinnedPlans kept, load_pins(file));
    const auto refuse = [&](const std::string& whose) {
      return tl::unexpected(
          Error{Stage::kPartition,
                ErrorCode::kInvalidInput,
                {},
                fmt::format("'{}' keeps a plan of {}; remove it, or pin the plan to another file",
                            file.string(), whose)});
    };
    if (kept.model != plans.model) return refuse("another model");
    if (kept.delegate != delegate) return refuse(fmt::format("delegate '{}'", kept.delegate));
    plans = std::move(kept);
  }
  const MutexLock lock(pin->mutex_);
  pin->plans_ = std::move(plans);
  return pin;
}

Result<std::optional<PinnedPlans::Regions>> PlanPin::find(const Graph& canonical,
                                                          const Binding& binding) const {
  PX_ASSIGN(const std::uint64_t key, key_of_sizes(canonical, binding));
  const MutexLock lock(mutex_);
  const auto found = plans_.plans.find(key);
  if (found == plans_.plans.end()) return std::nullopt;
  return found->second;
}

Status PlanPin::keep(const Graph& canonical, const Binding& binding, PinnedPlans::Regions regions) {
  PX_ASSIGN(const std::uint64_t key, key_of_sizes(canonical, binding));
  const MutexLock lock(mutex_);
  if (!plans_.plans.emplace(key, std::move(regions)).second) return {};
  return save_pins(file_, plans_);
}

}  // namespace parallax
