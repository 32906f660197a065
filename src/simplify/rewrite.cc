#include "simplify/rewrite.h"

#include <utility>

namespace parallax {

Replacements::Replacements(Graph& graph)
    : graph_(graph), to_(graph.values.size()), is_output_(graph.values.size(), false) {
  for (const ValueId id : graph.values.ids()) to_[id] = id;
  for (const ValueId id : graph.outputs) is_output_[id] = true;
}

void Replacements::apply(Node& node) const {
  for (ValueId& input : node.inputs) input = now(input);
}

bool Replacements::replace(ValueId from, ValueId to) {
  if (from == to) return false;
  Value& old_value = graph_.values[from];
  Value& new_value = graph_.values[to];
  if (is_output_[from]) {
    if (new_value.kind != ValueKind::kResult || is_output_[to]) return false;
    std::swap(old_value.name, new_value.name);
    is_output_[to] = true;
  }
  if (!new_value.content && old_value.content) new_value.content = old_value.content;
  to_[from] = to;
  return true;
}

void Replacements::finish() {
  for (ValueId& output : graph_.outputs) output = now(output);
  erase_unused(graph_);
}

namespace {

void release_from_producer(Graph& graph, ValueId id) {
  Value& value = graph.values[id];
  for (ValueId& output : graph.nodes[value.producer].outputs) {
    if (output == id) output = ValueId{};
  }
  value.producer = NodeId{};
}

IdVector<NodeId, bool> needed_nodes(const Graph& graph) {
  IdVector<ValueId, bool> needed(graph.values.size(), false);
  for (const ValueId output : graph.outputs) needed[output] = true;
  IdVector<NodeId, bool> result(graph.nodes.size(), false);
  for (auto i = static_cast<std::int32_t>(graph.nodes.size()) - 1; i >= 0; --i) {
    const Node& node = graph.nodes[NodeId{i}];
    for (const ValueId output : node.outputs) {
      if (output.valid() && needed[output]) result[NodeId{i}] = true;
    }
    if (!result[NodeId{i}]) continue;
    for (const ValueId input : node.inputs) {
      if (input.valid()) needed[input] = true;
    }
  }
  return result;
}

/// Moves those to keep to the front and drops the others. Where each went.
template <class Id, class T>
IdVector<Id, Id> keep_only(IdVector<Id, T>& items, const IdVector<Id, bool>& keep) {
  IdVector<Id, Id> to(items.size());
  Id next{0};
  for (const Id id : items.ids()) {
    if (!keep[id]) continue;
    if (next != id) items[next] = std::move(items[id]);
    to[id] = next;
    ++next.value;
  }
  items.resize(static_cast<std::size_t>(next.value));
  items.shrink();
  return to;
}

/// Calls `visit` with every list of value ids that the graph has.
template <class Visit>
void for_each_list(Graph& graph, Visit visit) {
  visit(graph.inputs);
  visit(graph.outputs);
  for (Node& node : graph.nodes) {
    visit(node.inputs);
    visit(node.outputs);
  }
}

void erase_unused_values(Graph& graph) {
  IdVector<ValueId, bool> used(graph.values.size(), false);
  for_each_list(graph, [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id.valid()) used[id] = true;
    }
  });
  const IdVector<ValueId, ValueId> to = keep_only(graph.values, used);
  for_each_list(graph, [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      if (id.valid()) id = to[id];
    }
  });
}

}  // namespace

void make_constant_value(Graph& graph, ValueId id, Constant constant) {
  release_from_producer(graph, id);
  Value& value = graph.values[id];
  value.kind = ValueKind::kConstant;
  value.dtype = constant.dtype;
  value.shape.assign(constant.dims.begin(), constant.dims.end());
  value.content.reset();
  value.constant = std::move(constant);
}

void make_symbolic_value(Graph& graph, ValueId id) {
  release_from_producer(graph, id);
  graph.values[id].kind = ValueKind::kSymbolic;
}

int erase_unused(Graph& graph) {
  const IdVector<NodeId, bool> needed = needed_nodes(graph);
  const auto before = graph.nodes.size();
  keep_only(graph.nodes, needed);
  const auto removed = static_cast<int>(before - graph.nodes.size());
  erase_unused_values(graph);
  for (const NodeId id : graph.nodes.ids()) {
    for (const ValueId output : graph.nodes[id].outputs) {
      if (output.valid()) graph.values[output].producer = id;
    }
  }
  return removed;
}

}  // namespace parallax
