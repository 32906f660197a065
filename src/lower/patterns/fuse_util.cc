#include "lower/patterns/fuse_util.h"

#include <cstring>
#include <span>
#include <utility>

#include "ops/deferred.h"

namespace parallax {
Readers::Readers(const Graph& graph)
    : end_(graph.values.size(), 0), is_output_(graph.values.size(), false) {
  for (const ValueId output : graph.outputs) is_output_[output] = true;
  for (const Node& node : graph.nodes)
    for (const ValueId input : node.inputs)
      if (input.valid()) ++end_[input];
  // Room for a reader that reads twice; its second place stays empty.
  std::uint32_t room = 0;
  for (std::uint32_t& end : end_) end = std::exchange(room, room + end);
  begin_ = end_;
  readers_.resize(room);
  for (const NodeId id : graph.nodes.ids()) {
    for (const ValueId input : graph.nodes[id].inputs) {
      if (!input.valid()) continue;
      std::uint32_t& end = end_[input];
      if (end == begin_[input] || readers_[end - 1] != id) readers_[end++] = id;
    }
  }
}

bool Readers::single(ValueId value) const {
  return begin_.contains(value) && end_[value] - begin_[value] == 1 && !is_output_[value];
}

std::span<const NodeId> Readers::of(ValueId value) const {
  return std::span(readers_).subspan(begin_[value], end_[value] - begin_[value]);
}

const Node* produced_by(const Graph& graph, ValueId value, OpKind kind) {
  if (!value.valid()) return nullptr;
  const NodeId producer = graph.values[value].producer;
  if (graph.values[value].kind != ValueKind::kResult || !producer.valid()) return nullptr;
  const Node& node = graph.nodes[producer];
  return node.op == kind && node.outputs[0] == value ? &node : nullptr;
}

const Node* inner_node(const Graph& graph, const Readers& readers, ValueId value, OpKind kind) {
  return readers.single(value) ? produced_by(graph, value, kind) : nullptr;
}

bool known_before_runs(const Graph& graph, const Shape& shape) {
  for (const Expr& size : shape)
    for (const SymbolId id : size.symbols())
      if (graph.symbols[id].kind != SymbolKind::kInput) return false;
  return true;
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
  if (!compute_for_good(constant)) return {};
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
  for (const Value& value : graph.values) take(value.name);
  for (const Node& node : graph.nodes) take(node.name);
}

std::string UniqueNames::make(std::string_view wanted) {
  std::string name(wanted);
  if (taken_.insert(name)) return name;
  // The last number used for this name: very many may be wanted.
  int& number = numbers_.try_emplace(std::string(wanted), 2).first->second;
  do {
    name = std::string(wanted) + "_" + std::to_string(number++);
  } while (!taken_.insert(name));
  return name;
}

ValueId add_constant(Graph& graph, UniqueNames& names, std::string_view name, Constant constant) {
  return graph.values.push_back(constant_value(names.make(name), std::move(constant)));
}

void rewrite_node(Graph& graph, NodeId last, OpKind op, std::vector<ValueId> inputs,
                  Attributes attributes, const Epilogue& epilogue) {
  Node& node = graph.nodes[last];
  node.op = op;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.epilogue = epilogue;
}

}  // namespace parallax
