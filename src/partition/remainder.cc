#include "partition/remainder.h"

#include <queue>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "lower/patterns/fuse_util.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

/// Values that pass between regions and the remainder, each once.
struct Boundary {
  std::vector<ValueId> given;  ///< results of regions that the rest reads or the graph gives
  std::vector<ValueId> taken;  ///< results of the rest that regions read
};

Boundary boundary_of(const Graph& graph, const Partition& partition) {
  const auto in_region = [&](NodeId node) { return partition.placement[node].region.valid(); };
  const auto is_result = [&](ValueId id) {
    return id.valid() && graph.values[id].kind == ValueKind::kResult;
  };
  Boundary boundary;
  IdVector<ValueId, bool> seen(graph.values.size(), false);
  const auto add = [&](std::vector<ValueId>& list, ValueId id) {
    if (seen[id]) return;
    seen[id] = true;
    list.push_back(id);
  };
  for (const NodeId node : graph.nodes.ids()) {
    for (const ValueId input : graph.nodes[node].inputs) {
      if (!is_result(input)) continue;
      const bool from = in_region(graph.values[input].producer);
      if (from != in_region(node)) add(from ? boundary.given : boundary.taken, input);
    }
  }
  for (const ValueId output : graph.outputs)
    if (is_result(output) && in_region(graph.values[output].producer)) add(boundary.given, output);
  return boundary;
}

/// Returns the position of each node of `remainder` in `graph`. A node that passes created has the
/// name of the last node in it, or else the position of the previous node.
IdVector<NodeId, NodeId> places(const Graph& graph, const Graph& remainder) {
  std::unordered_map<std::string_view, NodeId> by_name;
  for (const NodeId id : graph.nodes.ids()) by_name.emplace(graph.nodes[id].name, id);
  IdVector<NodeId, NodeId> result;
  NodeId before{0};
  for (const Node& node : remainder.nodes) {
    const auto same = by_name.find(node.name);
    if (same != by_name.end()) before = same->second;
    result.push_back(before);
  }
  return result;
}

/// Sorts the nodes such that each comes after those that it reads; ties are broken by position.
void sort_nodes(const IdVector<NodeId, NodeId>& places, PartitionedGraph& placed) {
  Graph& graph = placed.graph;
  IdVector<NodeId, int> waits(graph.nodes.size(), 0);
  const auto readers = consumers(graph);
  for (const Node& node : graph.nodes)
    for (const ValueId output : node.outputs)
      if (output.valid())
        for (const NodeId reader : readers[output]) ++waits[reader];
  const auto later = [&](NodeId a, NodeId b) {
    return std::pair(places[a], a) > std::pair(places[b], b);
  };
  std::priority_queue<NodeId, std::vector<NodeId>, decltype(later)> ready(later);
  for (const NodeId id : graph.nodes.ids())
    if (waits[id] == 0) ready.push(id);
  IdVector<NodeId, Node> nodes;
  IdVector<NodeId, RegionId> region_of;
  while (!ready.empty()) {
    const NodeId from = ready.top();
    ready.pop();
    const NodeId id = nodes.push_back(std::move(graph.nodes[from]));
    region_of.push_back(placed.region_of[from]);
    for (const ValueId output : nodes[id].outputs) {
      if (!output.valid()) continue;
      graph.values[output].producer = id;
      for (const NodeId reader : readers[output])
        if (--waits[reader] == 0) ready.push(reader);
    }
  }
  graph.nodes = std::move(nodes);
  placed.region_of = std::move(region_of);
}

/// Adds nodes of regions to a remainder.
class RemainderBuilder {
 public:
  RemainderBuilder(const Graph& graph, PartitionedGraph& placed)
      : graph_(graph), placed_(placed), to_(graph.values.size()) {
    for (const Value& value : placed.graph.values) value_names_.take(value.name);
    for (const Node& node : placed.graph.nodes) node_names_.take(node.name);
  }

  /// From now on `there`, of the remainder, replaces `here`.
  void same(ValueId here, ValueId there) { to_[here] = there; }

  void add(NodeId id, RegionId region) {
    Node node = graph_.nodes[id];
    node.name = node_names_.make(node.name);
    for (ValueId& input : node.inputs)
      if (input.valid()) input = copied(input);
    for (ValueId& output : node.outputs) {
      if (!output.valid()) continue;
      output = copied(output);
      Value& value = placed_.graph.values[output];
      value.kind = ValueKind::kResult;
      value.producer = NodeId{static_cast<std::int32_t>(placed_.graph.nodes.size())};
    }
    placed_.graph.nodes.push_back(std::move(node));
    placed_.region_of.push_back(region);
  }

 private:
  ValueId copied(ValueId id) {
    if (to_[id].valid()) return to_[id];
    Value value = graph_.values[id];
    value.name = value_names_.make(value.name);
    return to_[id] = placed_.graph.values.push_back(std::move(value));
  }

  const Graph& graph_;
  PartitionedGraph& placed_;
  IdVector<ValueId, ValueId> to_;
  UniqueNames value_names_, node_names_;  // a node may have the name of a value
};

}  // namespace

Graph cpu_remainder(const Graph& graph, const Partition& partition) {
  const Boundary boundary = boundary_of(graph, partition);
  Graph remainder = graph;
  remainder.nodes = {};
  for (const ValueId id : boundary.given) {
    Value& value = remainder.values[id];
    value.kind = ValueKind::kInput;
    value.producer = {};
    value.content.reset();
    remainder.inputs.push_back(id);
  }
  remainder.outputs.insert(remainder.outputs.end(), boundary.taken.begin(), boundary.taken.end());
  for (const NodeId id : graph.nodes.ids()) {
    if (partition.placement[id].region.valid()) continue;
    const NodeId here = remainder.nodes.push_back(graph.nodes[id]);
    for (const ValueId output : graph.nodes[id].outputs)
      if (output.valid()) remainder.values[output].producer = here;
  }
  erase_unused(remainder);
  return remainder;
}

std::vector<Detour> detours_of(const Graph& graph, const Partition& partition) {
  const Boundary boundary = boundary_of(graph, partition);
  std::vector<Detour> detours(partition.regions.size());
  const auto region_of = [&](NodeId node) { return partition.placement[node].region; };
  const auto detour_of = [&](NodeId node) -> Detour& {
    return detours[static_cast<std::size_t>(region_of(node).value)];
  };
  for (std::size_t i = 0; i < boundary.given.size(); ++i)
    detour_of(graph.values[boundary.given[i]].producer).inputs.push_back(graph.inputs.size() + i);
  IdVector<ValueId, std::size_t> place(graph.values.size(), 0);
  for (std::size_t i = 0; i < boundary.taken.size(); ++i)
    place[boundary.taken[i]] = graph.outputs.size() + i;
  for (const NodeId node : graph.nodes.ids()) {
    if (!region_of(node).valid()) continue;
    for (const ValueId input : graph.nodes[node].inputs) {
      if (!input.valid() || graph.values[input].kind != ValueKind::kResult) continue;
      const RegionId from = region_of(graph.values[input].producer);
      if (!from.valid()) detour_of(node).outputs.push_back(place[input]);
      if (from.valid() && from != region_of(node))
        detour_of(node).behind.push_back(static_cast<std::size_t>(from.value));
    }
  }
  return detours;
}

PartitionedGraph merge_regions(const Graph& graph, const Partition& partition, Graph remainder) {
  const Boundary boundary = boundary_of(graph, partition);
  IdVector<NodeId, NodeId> from = places(graph, remainder);
  PartitionedGraph placed{std::move(remainder), {}};
  placed.region_of.resize(placed.graph.nodes.size());
  RemainderBuilder builder(graph, placed);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    builder.same(graph.inputs[i], placed.graph.inputs[i]);
  for (std::size_t i = 0; i < boundary.given.size(); ++i)
    builder.same(boundary.given[i], placed.graph.inputs[graph.inputs.size() + i]);
  for (std::size_t i = 0; i < boundary.taken.size(); ++i)
    builder.same(boundary.taken[i], placed.graph.outputs[graph.outputs.size() + i]);
  placed.graph.inputs.resize(graph.inputs.size());
  placed.graph.outputs.resize(graph.outputs.size());
  for (const NodeId id : graph.nodes.ids())
    if (const RegionId region = partition.placement[id].region; region.valid()) {
      builder.add(id, region);
      from.push_back(id);
    }
  sort_nodes(from, placed);
  return placed;
}

}  // namespace parallax
