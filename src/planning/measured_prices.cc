#include "planning/measured_prices.h"

#include <algorithm>

#include "ops/op.h"
#include "partition/cpu_share.h"

namespace parallax {
namespace {

/// Returns the predicted seconds on one core of a node that is compiled during a run, at assumed
/// sizes; 0 if they are not all known.
double work_at(const Graph& graph, NodeId id, const ConcreteShapes& shapes) {
  const Node& node = graph.nodes[id];
  const auto known = [&](ValueId value) { return !value.valid() || shapes[value].has_value(); };
  if (!std::ranges::all_of(node.inputs, known) || !std::ranges::all_of(node.outputs, known))
    return 0;
  std::vector<Dims> inputs, outputs;
  double bytes = 0;
  const auto add = [&](ValueId value, std::vector<Dims>& list) {
    list.push_back(value.valid() ? *shapes[value] : Dims{});
    if (value.valid())
      bytes += static_cast<double>(bytes_of(graph.values[value].dtype, list.back()).value_or(0));
  };
  for (const ValueId input : node.inputs) add(input, inputs);
  for (const ValueId output : node.outputs) add(output, outputs);
  const auto macs = static_cast<double>(op_def(node.op).macs(node, inputs, outputs));
  return kNodeSeconds + kernel_seconds({node.op, "", macs, bytes});
}

}  // namespace

MeasuredPrices measured_prices(const Graph& graph, const ConcreteShapes& shapes,
                               const Delegate& delegate, const Compiled& lowered,
                               const ConcreteShapes& lowered_shapes,
                               const Calibration& calibration) {
  const WorkRates rates(calibration);
  IdVector<NodeId, double> cpu, there;
  for (const NodeId id : lowered.graph().nodes.ids()) {
    const WorkKind kind = work_kind(lowered.graph(), lowered.graph().nodes[id]);
    const double predicted = lowered.nodes[id].role == NodeRole::kRunTime
                                 ? work_at(lowered.graph(), id, lowered_shapes)
                                 : predicted_work(lowered.nodes[id]);
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
  for (const NodeId id : lowered.graph().nodes.ids()) {
    const CompiledNode& node = lowered.nodes[id];
    if (node.role == NodeRole::kPlanned && node.seconds > 0)
      kinds.insert(work_kind(lowered.graph(), lowered.graph().nodes[id]));
    for (const CompiledBody& body : node.bodies)
      if (body.compiled != nullptr) kinds.merge(work_kinds(*body.compiled));
  }
  return kinds;
}

bool launch_outweighs(const Compiled& lowered, const Delegate& delegate, const Calibration& known) {
  // Measured launches needed a third of the described time, nodes up to 1.8 times the prediction.
  constexpr double kFarLonger = 4;
  double seconds = 0;
  for (const CompiledNode& node : lowered.nodes) {
    if (node.role == NodeRole::kRunTime || node.role == NodeRole::kBodies) return false;
    seconds += predicted_work(node);
  }
  return seconds * kFarLonger < known.launch_seconds.value_or(delegate.launch_seconds);
}

void assume_no_gain(const std::set<WorkKind>& kinds, Calibration& known) {
  constexpr double kSeconds = 1e-3;
  for (const WorkKind kind : kinds)
    if (!known.has_samples_of(kind)) known.samples.push_back({kind, kSeconds, kSeconds, kSeconds});
}

}  // namespace parallax
