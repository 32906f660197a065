#include "planning/asked_nodes.h"

#include "base/status.h"
#include "partition/parts.h"

namespace parallax {
namespace {

/// Returns whether the description of a delegate lets it run a node, whole or in parts. `assumed`:
/// empty if it takes no sizes that only a run determines.
bool covers(const Delegate& delegate, const Graph& graph, const ConcreteShapes& shapes,
            const ConcreteShapes& assumed, NodeId id) {
  const Support support = check_support(graph, shapes, id, delegate);
  if (support.reason == CpuReason::kNone) return true;
  if (support.reason == CpuReason::kDynamicShape && !assumed.empty())
    return check_run_time_support(graph, shapes, assumed, id, delegate).reason == CpuReason::kNone;
  return supported_parts(graph, shapes, id, delegate).has_value();
}

}  // namespace

Status add_refusals(const DelegatedPlan& plan, const Binding& binding,
                    const NamedDelegate& delegate, IdVector<NodeId, std::string>& refused) {
  if (delegate.ask == nullptr) return {};
  const Graph& graph = plan.graph;
  PX_ASSIGN(const ConcreteShapes shapes, concrete_shapes(graph, binding));
  ConcreteShapes assumed;
  if (delegate.description.dynamic_shapes) assumed = assumed_shapes(graph, binding);
  refused.resize(graph.nodes.size());
  for (const NodeId id : graph.nodes.ids()) {
    const bool taken =
        plan.partition.placement.contains(id) && plan.partition.placement[id].region.valid();
    if (taken || !refused[id].empty()) continue;
    if (covers(delegate.description, graph, shapes, assumed, id))
      refused[id] = delegate.ask(graph, shapes, id);
  }
  return {};
}

}  // namespace parallax
