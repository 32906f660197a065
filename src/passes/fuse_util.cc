#include "passes/fuse_util.h"

#include <cstring>
#include <utility>

namespace parallax {
namespace {

IdVector<NodeId, bool> needed_nodes(const Graph& graph) {
  IdVector<ValueId, bool> needed(graph.values.size(), false);
  for (const ValueId output : graph.outputs) needed[output] = true;
  IdVector<NodeId, bool> keep(graph.nodes.size(), false);
  for (auto i = static_cast<std::int32_t>(graph.nodes.size()) - 1; i >= 0; --i) {
    const Node& node = graph.nodes[NodeId{i}];
    for (const ValueId output : node.outputs) {
      if (output.valid() && needed[output]) keep[NodeId{i}] = true;
    }
    if (!keep[NodeId{i}]) continue;
    for (const ValueId input : node.inputs) {
      if (input.valid()) needed[input] = true;
    }
  }
  return keep;
}

void remap(std::vector<ValueId>& ids, const IdVector<ValueId, ValueId>& to) {
  for (ValueId& id : ids) {
    if (id.valid()) id = to[id];
  }
}

/// Drops values that no node, input or output of the graph names.
void remove_unused_values(Graph& graph) {
  IdVector<ValueId, bool> used(graph.values.size(), false);
  const auto mark = [&used](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id.valid()) used[id] = true;
    }
  };
  mark(graph.inputs);
  mark(graph.outputs);
  for (const Node& node : graph.nodes) {
    mark(node.inputs);
    mark(node.outputs);
  }
  IdVector<ValueId, ValueId> to(graph.values.size());
  IdVector<ValueId, Value> kept;
  for (const ValueId id : graph.values.ids()) {
    if (used[id]) to[id] = kept.push_back(std::move(graph.values[id]));
  }
  graph.values = std::move(kept);
  remap(graph.inputs, to);
  remap(graph.outputs, to);
  for (Node& node : graph.nodes) {
    remap(node.inputs, to);
    remap(node.outputs, to);
  }
}

}  // namespace

Readers::Readers(const Graph& graph)
    : readers_(consumers(graph)), is_output_(graph.values.size(), false) {
  for (const ValueId output : graph.outputs) is_output_[output] = true;
}

bool Readers::single(ValueId value) const {
  return readers_.contains(value) && readers_[value].size() == 1 && !is_output_[value];
}

const Node* produced_by(const Graph& graph, ValueId value, OpKind kind) {
  if (!value.valid()) return nullptr;
  const NodeId producer = graph.values[value].producer;
  if (graph.values[value].kind != ValueKind::kResult || !producer.valid()) return nullptr;
  const Node& node = graph.nodes[producer];
  return node.op == kind && node.outputs[0] == value ? &node : nullptr;
}

const Constant* float_constant(const Graph& graph, ValueId value) {
  if (!value.valid()) return nullptr;
  const auto& constant = graph.values[value].constant;
  return constant && constant->dtype == DType::kF32 ? &*constant : nullptr;
}

std::optional<float> scalar_constant(const Graph& graph, ValueId value) {
  const Constant* constant = float_constant(graph, value);
  if (constant == nullptr || constant->bytes.size() != sizeof(float)) return std::nullopt;
  float number = 0;
  std::memcpy(&number, constant->bytes.data(), sizeof(float));
  return number;
}

std::vector<float> floats(const Constant& constant) {
  std::vector<float> elements(constant.bytes.size() / sizeof(float));
  if (!elements.empty()) {
    std::memcpy(elements.data(), constant.bytes.data(), elements.size() * sizeof(float));
  }
  return elements;
}

Constant make_f32(const Dims& dims, const std::vector<float>& elements) {
  return make_constant(DType::kF32, dims, std::as_bytes(std::span(elements)));
}

UniqueNames::UniqueNames(const Graph& graph) {
  taken_.reserve(graph.values.size() + graph.nodes.size());
  for (const Value& value : graph.values) taken_.insert(value.name);
  for (const Node& node : graph.nodes) taken_.insert(node.name);
}

std::string UniqueNames::make(std::string_view wanted) {
  std::string name(wanted);
  for (int i = 2; !taken_.insert(name).second; ++i) {
    name = std::string(wanted) + "_" + std::to_string(i);
  }
  return name;
}

ValueId add_constant(Graph& graph, UniqueNames& names, std::string_view name, Constant constant) {
  Value value;
  value.name = names.make(name);
  value.kind = ValueKind::kConstant;
  value.dtype = constant.dtype;
  for (const std::int64_t dim : constant.dims) value.shape.emplace_back(dim);
  value.constant = std::move(constant);
  return graph.values.push_back(std::move(value));
}

void rewrite_node(Graph& graph, NodeId last, OpKind op, std::vector<ValueId> inputs,
                  Attributes attributes) {
  Node& node = graph.nodes[last];
  node.op = op;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
}

void remove_unused(Graph& graph) {
  const IdVector<NodeId, bool> keep = needed_nodes(graph);
  IdVector<NodeId, Node> kept;
  for (const NodeId id : graph.nodes.ids()) {
    if (keep[id]) kept.push_back(std::move(graph.nodes[id]));
  }
  graph.nodes = std::move(kept);
  remove_unused_values(graph);
  for (const NodeId id : graph.nodes.ids()) {
    for (const ValueId output : graph.nodes[id].outputs) {
      if (output.valid()) graph.values[output].producer = id;
    }
  }
}

}  // namespace parallax
