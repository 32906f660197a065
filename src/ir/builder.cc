#include "ir/builder.h"

namespace parallax {

void GraphBuilder::read_names() {
  for (auto n = static_cast<std::int32_t>(seen_values_);
       n < static_cast<std::int32_t>(graph_.values.size()); ++n) {
    value_names_.insert(graph_.values[ValueId{n}].name);
  }
  for (auto n = static_cast<std::int32_t>(seen_nodes_);
       n < static_cast<std::int32_t>(graph_.nodes.size()); ++n) {
    node_names_.insert(graph_.nodes[NodeId{n}].name);
  }
  seen_values_ = graph_.values.size();
  seen_nodes_ = graph_.nodes.size();
}

std::string GraphBuilder::unique(std::unordered_set<std::string>& used, std::string name) {
  if (used.insert(name).second) return name;
  // Starting at the size of the graph makes the first try succeed except for odd names.
  for (std::size_t i = used.size();; ++i) {
    std::string candidate = name + "_" + std::to_string(i);
    if (used.insert(candidate).second) return candidate;
  }
}

ValueId GraphBuilder::input(std::string name, DType dtype, Shape shape) {
  Value value;
  value.name = std::move(name);
  value.kind = ValueKind::kInput;
  value.dtype = dtype;
  value.shape = std::move(shape);
  const ValueId id = graph_.values.push_back(std::move(value));
  graph_.inputs.push_back(id);
  return id;
}

ValueId GraphBuilder::constant(std::string name, Constant constant) {
  return graph_.values.push_back(constant_value(std::move(name), std::move(constant)));
}

ValueId GraphBuilder::ints(std::string_view name, std::span<const std::int64_t> elements) {
  read_names();
  return constant(unique(value_names_, std::string(name)), make_i64(elements));
}

NodeId GraphBuilder::node(OpKind op, std::vector<ValueId> inputs, Attributes attributes,
                          std::string name, int outputs) {
  read_names();
  if (name.empty()) name = std::string(to_string(op)) + "_" + std::to_string(graph_.nodes.size());
  const NodeId id{static_cast<std::int32_t>(graph_.nodes.size())};
  Node node;
  node.name = unique(node_names_, std::move(name));
  node.op = op;
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  for (int i = 0; i < outputs; ++i) {
    Value value;
    value.name =
        unique(value_names_, outputs == 1 ? node.name : node.name + "_output" + std::to_string(i));
    value.producer = id;
    node.outputs.push_back(graph_.values.push_back(std::move(value)));
  }
  seen_values_ = graph_.values.size();
  graph_.nodes.push_back(std::move(node));
  seen_nodes_ = graph_.nodes.size();
  return id;
}

ValueId GraphBuilder::op(OpKind op, std::vector<ValueId> inputs, Attributes attributes,
                         std::string name) {
  const NodeId id = node(op, std::move(inputs), std::move(attributes), std::move(name));
  return graph_.nodes[id].outputs.front();
}

}  // namespace parallax
