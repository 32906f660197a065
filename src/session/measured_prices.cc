#include "session/measured_prices.h"

#include "partition/cpu_share.h"

namespace parallax {

MeasuredPrices measured_prices(const Graph& graph, const ConcreteShapes& shapes,
                               const Delegate& delegate, const Compiled& lowered,
                               const Calibration& calibration) {
  const WorkRates rates(calibration);
  IdVector<NodeId, double> cpu, there;
  for (const NodeId id : lowered.graph().nodes.ids()) {
    const WorkKind kind = work_kind(lowered.graph(), lowered.graph().nodes[id]);
    const double predicted = predicted_work(lowered.nodes[id]);
    cpu.push_back(rates.cpu(kind, predicted));
    there.push_back(rates.delegate(kind, predicted));
  }
  const Calibration nothing;
  const Pricer pricer(graph, shapes, delegate, CostModel::kExact, nothing);
  IdVector<NodeId, double> alone;
  for (const NodeId id : graph.nodes.ids()) {
    const NodeCost cost = pricer.node_cost(id);
    alone.push_back(static_cast<double>(cost.macs) / kMeasuredCore.macs_per_second +
                    static_cast<double>(cost.moved_bytes) / kMeasuredCore.bytes_per_second);
  }
  const IdVector<NodeId, NodeId> by = computed_by(graph, lowered.graph());
  MeasuredPrices prices;
  prices.cpu = shared_out(alone, cpu, by);
  for (const double seconds : shared_out(alone, there, by)) prices.delegate.push_back(seconds);
  return prices;
}

std::set<WorkKind> work_kinds(const Compiled& lowered) {
  std::set<WorkKind> kinds;
  for (const NodeId id : lowered.graph().nodes.ids())
    if (lowered.nodes[id].role == NodeRole::kPlanned && lowered.nodes[id].seconds > 0)
      kinds.insert(work_kind(lowered.graph(), lowered.graph().nodes[id]));
  return kinds;
}

}  // namespace parallax
