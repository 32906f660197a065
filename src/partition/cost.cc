#include "partition/cost.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/checked.h"
#include "ops/op.h"
#include "partition/flops.h"
#include "partition/region_key.h"

namespace parallax {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

void add(std::int64_t& sum, std::int64_t x) { sum = checked_add(sum, x).value_or(kMax); }

std::int64_t bytes_of(const Graph& graph, const ConcreteShapes& shapes, ValueId id) {
  if (!shapes[id]) return 0;
  return parallax::bytes_of(graph.values[id].dtype, *shapes[id]).value_or(kMax);
}

/// Returns the dims of `ids`, rank 0 for those left out; nullopt if one is not known.
std::optional<std::vector<Dims>> dims_of(const ConcreteShapes& shapes,
                                         std::span<const ValueId> ids) {
  std::vector<Dims> result;
  result.reserve(ids.size());
  for (const ValueId id : ids) {
    if (id.valid() && !shapes[id]) return std::nullopt;
    result.push_back(id.valid() ? *shapes[id] : Dims());
  }
  return result;
}

std::string milliseconds(double seconds) { return fmt::format("{:.4g} ms", seconds * 1e3); }

Verdict judge_as_paper(const RegionCost& cost) {
  const auto flops = static_cast<double>(cost.paper_flops);
  const auto bytes = static_cast<double>(cost.boundary_bytes);
  if (cost.nodes < kPaperMinNodes) {
    return {CpuReason::kLoses, fmt::format("N = {} < {}", cost.nodes, kPaperMinNodes)};
  }
  if (cost.paper_flops < kPaperMinWork) {
    return {CpuReason::kLoses,
            fmt::format("F = {:.4g} < {:.4g}", flops, static_cast<double>(kPaperMinWork))};
  }
  if (bytes > kPaperMaxBytesPerWork * flops) {
    return {CpuReason::kLoses,
            fmt::format("B/F = {:.4g} > {}", bytes / flops, kPaperMaxBytesPerWork)};
  }
  return {CpuReason::kNone,
          fmt::format("N = {}, F = {:.4g}, B/F = {:.4g}", cost.nodes, flops, bytes / flops)};
}

Verdict judge_by_time(const RegionCost& cost) {
  const std::string cpu = milliseconds(cost.cpu_seconds);
  const std::string delegate = milliseconds(cost.delegate_seconds);
  const std::string_view as_timed = cost.timed ? ", as runs took," : "";
  if (cost.delegate_seconds < cost.cpu_seconds) {
    return {CpuReason::kNone,
            fmt::format("{} offloaded{} < {} on the CPU", delegate, as_timed, cpu)};
  }
  return {CpuReason::kLoses,
          fmt::format("{} offloaded{} >= {} on the CPU", delegate, as_timed, cpu)};
}

}  // namespace

std::string_view to_string(CostModel model) {
  switch (model) {
    case CostModel::kPaper:
      return "paper";
    case CostModel::kExact:
      return "exact";
    case CostModel::kMeasured:
      return "measured";
  }
  return "unknown";
}

std::optional<CostModel> cost_model_from_string(std::string_view name) {
  for (const CostModel model : {CostModel::kPaper, CostModel::kExact, CostModel::kMeasured}) {
    if (to_string(model) == name) return model;
  }
  return std::nullopt;
}

Pricer::Pricer(const Graph& graph, const ConcreteShapes& shapes, const Delegate& delegate,
               CostModel model, const Calibration& calibration, NodeSeconds known,
               std::string_view body)
    : graph_(graph),
      shapes_(shapes),
      delegate_(delegate),
      model_(model),
      calibration_(calibration),
      known_(std::move(known)),
      consumers_(consumers(graph)),
      is_output_(graph.values.size(), false),
      costs_(graph.nodes.size()),
      in_region_(graph.nodes.size(), 0),
      counted_(graph.values.size(), 0) {
  for (const ValueId output : graph.outputs) is_output_[output] = true;
  for (const NodeId node : graph.nodes.ids()) costs_[node] = node_cost(node);
  if (model_ != CostModel::kMeasured) return;
  keys_ = node_keys(graph, shapes, body);
  factor_ = region_factor(calibration_);
}

NodeCost Pricer::node_cost(NodeId id) const {
  const Node& node = graph_.nodes[id];
  const auto inputs = dims_of(shapes_, node.inputs);
  const auto outputs = dims_of(shapes_, node.outputs);
  NodeCost cost;
  if (known_.cpu.contains(id)) cost.cpu_seconds = known_.cpu[id];
  if (!inputs || !outputs) return cost;
  cost.macs = op_def(node.op).macs(node, *inputs, *outputs);
  cost.paper_flops = paper_flops(node, *inputs, *outputs);
  for (const auto* ids : {&node.inputs, &node.outputs}) {
    for (const ValueId value : *ids) {
      if (value.valid()) add(cost.moved_bytes, bytes_of(graph_, shapes_, value));
    }
  }
  price(node, cost);
  if (known_.cpu.contains(id)) cost.cpu_seconds = known_.cpu[id];
  if (known_.delegate.contains(id) && known_.delegate[id])
    cost.delegate_seconds = *known_.delegate[id];
  return cost;
}

/// Computes the seconds of the operator from the rates.
void Pricer::price(const Node& node, NodeCost& cost) const {
  const auto rate = calibration_.rates.find(node.op);
  if (model_ == CostModel::kMeasured && rate != calibration_.rates.end()) {
    const auto work = static_cast<double>(cost.macs > 0 ? cost.macs : cost.moved_bytes);
    cost.cpu_seconds = work / rate->second.cpu;
    cost.delegate_seconds = work / rate->second.delegate;
    return;
  }
  const auto limits = delegate_.operators.find(node.op);
  const double slowdown = limits == delegate_.operators.end() ? 1 : limits->second.slowdown;
  const auto macs = static_cast<double>(cost.macs);
  cost.cpu_seconds = macs / delegate_.cpu_macs_per_second;
  cost.delegate_seconds = macs * slowdown / delegate_.macs_per_second;
}

bool Pricer::leaves(ValueId value) const {
  if (is_output_[value]) return true;
  for (const NodeId node : consumers_[value]) {
    if (in_region_[node] != stamp_) return true;
  }
  return false;
}

void Pricer::add_boundary(NodeId id, RegionCost& cost) {
  const Node& node = graph_.nodes[id];
  for (const ValueId input : node.inputs) {
    if (!input.valid() || graph_.values[input].kind == ValueKind::kSymbolic) continue;
    const Value& value = graph_.values[input];
    if (value.kind == ValueKind::kResult && in_region_[value.producer] == stamp_) continue;
    if (std::exchange(counted_[input], stamp_) == stamp_) continue;
    const std::int64_t bytes = bytes_of(graph_, shapes_, input);
    add(cost.entering_bytes, bytes);
    if (value.kind != ValueKind::kConstant) add(cost.boundary_bytes, bytes);
  }
  for (const ValueId output : node.outputs) {
    if (!output.valid()) continue;
    if (leaves(output)) add(cost.boundary_bytes, bytes_of(graph_, shapes_, output));
  }
}

/// Returns whether `node` is the last reader of `value`, which the region computes and keeps
/// inside.
bool Pricer::ends_at(ValueId value, NodeId node) const {
  if (!value.valid() || graph_.values[value].kind != ValueKind::kResult) return false;
  if (in_region_[graph_.values[value].producer] != stamp_ || leaves(value)) return false;
  return consumers_[value].empty() || consumers_[value].back() == node;
}

/// Returns the maximum of result bytes alive at the same time, when nodes run in order.
std::int64_t Pricer::peak(std::span<const NodeId> nodes) const {
  std::vector<NodeId> order(nodes.begin(), nodes.end());
  std::ranges::sort(order);
  std::int64_t alive = 0, most = 0;
  for (const NodeId id : order) {
    const Node& node = graph_.nodes[id];
    for (const ValueId output : node.outputs)
      if (output.valid()) add(alive, bytes_of(graph_, shapes_, output));
    most = std::max(most, alive);
    std::vector<ValueId> ending = node.inputs;
    for (const ValueId output : node.outputs)
      if (output.valid() && consumers_[output].empty()) ending.push_back(output);
    std::ranges::sort(ending);
    ending.erase(std::unique(ending.begin(), ending.end()), ending.end());
    for (const ValueId value : ending)
      if (ends_at(value, id))
        alive = std::max<std::int64_t>(alive - bytes_of(graph_, shapes_, value), 0);
  }
  return most;
}

RegionCost Pricer::region_cost(std::span<const NodeId> nodes) {
  ++stamp_;
  for (const NodeId node : nodes) in_region_[node] = stamp_;
  RegionCost cost;
  cost.nodes = static_cast<int>(nodes.size());
  for (const NodeId node : nodes) {
    const NodeCost& part = costs_[node];
    add(cost.macs, part.macs);
    add(cost.paper_flops, part.paper_flops);
    cost.cpu_seconds += part.cpu_seconds;
    cost.delegate_seconds += part.delegate_seconds;
    add_boundary(node, cost);
  }
  cost.memory_bytes = cost.entering_bytes;
  add(cost.memory_bytes, peak(nodes));
  const bool measured = model_ == CostModel::kMeasured;
  const double bandwidth = measured && calibration_.bytes_per_second
                               ? *calibration_.bytes_per_second
                               : delegate_.bytes_per_second;
  cost.delegate_seconds += measured && calibration_.launch_seconds ? *calibration_.launch_seconds
                                                                   : delegate_.launch_seconds;
  cost.delegate_seconds += static_cast<double>(cost.boundary_bytes) / bandwidth;
  cost.by_rates = cost.delegate_seconds;
  if (measured) correct(nodes, cost);
  return cost;
}

/// Corrects the prediction by times of runs: of this region, or else of others.
void Pricer::correct(std::span<const NodeId> nodes, RegionCost& cost) const {
  cost.key = region_key(keys_, nodes);
  const auto found = std::ranges::find(calibration_.regions, cost.key, &RegionSample::key);
  cost.timed = found != calibration_.regions.end();
  cost.delegate_seconds = cost.timed ? found->seconds : cost.by_rates * factor_;
}

Verdict Pricer::judge(const RegionCost& cost) const {
  if (cost.memory_bytes > delegate_.memory_bytes) {
    return {CpuReason::kMemory, fmt::format("needs up to {} bytes, {} has {}", cost.memory_bytes,
                                            delegate_.name, delegate_.memory_bytes)};
  }
  return model_ == CostModel::kPaper ? judge_as_paper(cost) : judge_by_time(cost);
}

}  // namespace parallax
