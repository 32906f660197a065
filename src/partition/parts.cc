#include "partition/parts.h"

#include <algorithm>
#include <utility>

#include "lower/patterns/decompose.h"

namespace parallax {
namespace {

bool applies(const Node& node) {
  return std::ranges::any_of(delegate_decompositions(),
                             [&](const Decomposition& one) { return one.applies(node); });
}

/// Returns the node alone, on inputs with its dims; nullopt if a dimension is not known.
std::optional<Graph> alone(const Graph& graph, const ConcreteShapes& shapes, NodeId id) {
  Graph result;
  Node node = graph.nodes[id];
  std::vector<std::pair<ValueId, ValueId>> known;  // a value may be several inputs
  for (ValueId& input : node.inputs) {
    if (!input.valid()) continue;
    const Value& from = graph.values[input];
    if (!shapes[input] || from.kind == ValueKind::kSymbolic) return std::nullopt;
    const auto before = std::ranges::find(known, input, &std::pair<ValueId, ValueId>::first);
    if (before != known.end()) {
      input = before->second;
      continue;
    }
    Value value;
    value.name = from.name;
    value.dtype = from.dtype;
    value.shape.assign(shapes[input]->begin(), shapes[input]->end());
    value.kind = from.constant ? ValueKind::kConstant : ValueKind::kInput;
    value.constant = from.constant;
    const ValueId copy = result.values.push_back(std::move(value));
    if (!from.constant) result.inputs.push_back(copy);
    known.emplace_back(input, copy);
    input = copy;
  }
  for (ValueId& output : node.outputs) {
    if (!output.valid()) continue;
    Value value;
    value.name = graph.values[output].name;
    value.producer = NodeId{0};
    output = result.values.push_back(std::move(value));
    result.outputs.push_back(output);
  }
  result.nodes.push_back(std::move(node));
  return result;
}

}  // namespace

std::optional<NodeParts> supported_parts(const Graph& graph, const ConcreteShapes& shapes,
                                         NodeId id, const Delegate& delegate) {
  if (!applies(graph.nodes[id])) return std::nullopt;
  auto parts = alone(graph, shapes, id);
  if (!parts) return std::nullopt;
  if (!decompose(*parts, delegate_decompositions())) return std::nullopt;
  auto dims = concrete_shapes(*parts, {});
  if (!dims) return std::nullopt;
  for (const NodeId part : parts->nodes.ids()) {
    const Support support = check_support(*parts, *dims, part, delegate);
    if (support.reason != CpuReason::kNone || support.bridge) return std::nullopt;
  }
  return NodeParts{*std::move(parts), *std::move(dims)};
}

}  // namespace parallax
