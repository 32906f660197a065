#include "compile/graph_context.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "ir/strings.h"

namespace parallax {
namespace {

/// Returns the position of each node. A region that only a device runs counts as one node.
IdVector<NodeId, Position> positions(const BranchGraph& branches, std::size_t nodes,
                                     bool substitute) {
  IdVector<NodeId, Position> result(nodes);
  for (const BranchId branch : branches.branches.ids()) {
    std::int32_t index = 0;
    const bool one = branches.region[branch].valid() && !substitute;
    for (const NodeId node : branches.branches[branch]) result[node] = {branch, one ? 0 : index++};
  }
  return result;
}

void add_constants(const Graph& graph, ConstantPlaces& places) {
  for (const Value& value : graph.values)
    if (value.constant) places.push_back(value.constant->bytes);
  for (const Node& node : graph.nodes)
    for (const auto& body : node.bodies) add_constants(*body, places);
}

std::map<ValueId, Object> strings_in(const Graph& graph) {
  std::map<ValueId, Object> objects;
  for (const ValueId id : graph.values.ids()) {
    const Value& value = graph.values[id];
    if (value.dtype != DType::kString || !value.constant) continue;
    auto object = Object::strings(value.constant->dims,
                                  strings_of(*value.constant).value_or(std::vector<std::string>()));
    if (object) objects.emplace(id, *std::move(object));
  }
  return objects;
}

bool lies_in(const ConstantPlaces& places, const Constant& constant) {
  const std::byte* const begin = constant.bytes.data();
  const auto after = std::ranges::upper_bound(places, begin, std::less<>{},
                                              [](const auto& place) { return place.data(); });
  return after != places.begin() &&
         std::less<>{}(begin, std::prev(after)->data() + std::prev(after)->size());
}

}  // namespace

ConstantPlaces places_of(std::vector<std::span<const std::byte>> constants) {
  std::ranges::sort(constants, std::less<>{}, [](const auto& place) { return place.data(); });
  ConstantPlaces places;
  for (const auto& each : constants) {
    if (each.empty()) continue;
    const std::byte* const end = each.data() + each.size();
    if (places.empty() || std::less<>{}(places.back().data() + places.back().size(), each.data())) {
      places.push_back(each);
    } else if (std::less<>{}(places.back().data() + places.back().size(), end)) {
      places.back() = {places.back().data(), end};
    }
  }
  return places;
}

ConstantPlaces places_of(const Graph& graph) {
  ConstantPlaces constants;
  add_constants(graph, constants);
  return places_of(std::move(constants));
}

GraphContext::GraphContext(Graph graph_in, Delegation delegation_in,
                           std::shared_ptr<Weights> shared, const ConstantPlaces* outlived_by)
    : graph(std::move(graph_in)),
      delegation(std::move(delegation_in)),
      branches(find_branches(coarsen(dag_of(graph), delegation.region_of))),
      position(positions(branches, graph.nodes.size(), delegation.substitute)),
      alike(find_equivalent(graph)),
      weights(shared == nullptr ? std::make_shared<Weights>() : std::move(shared)),
      packed(weights->packed),
      constants(weights->constants),
      strings(strings_in(graph)) {
  for (const NodeId id : graph.nodes.ids()) {
    const auto regions = delegation.bodies.find(id);
    for (const auto& body : graph.nodes[id].bodies) {
      auto& contexts = bodies[id];
      Delegation inside;
      if (regions != delegation.bodies.end()) inside = regions->second[contexts.size()];
      contexts.push_back(
          std::make_shared<GraphContext>(*body, std::move(inside), weights, outlived_by));
    }
  }
  if (outlived_by == nullptr) return;
  for (const Value& value : graph.values) {
    if (!value.constant || value.constant->bytes.empty()) continue;
    if (lies_in(*outlived_by, *value.constant)) continue;
    own_.push_back(*value.constant);
    packed.lend(value.constant->bytes);
  }
}

GraphContext::~GraphContext() {
  for (const Constant& constant : own_) {
    packed.forget(constant.bytes);
    constants.forget(constant);
  }
}

}  // namespace parallax
