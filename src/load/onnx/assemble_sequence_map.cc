// SequenceMap, which becomes a Loop over positions.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/status.h"
#include "load/onnx/assembler.h"

namespace parallax {
namespace {

template <class T>
Status discard(const Result<T>& result) {
  return result ? Status() : tl::unexpected(result.error());
}

}  // namespace

/// Appends a node of this loader's own.
Result<ValueId> Assembler::add_op(OpKind op, std::vector<ValueId> inputs, Attributes attributes,
                                  std::string name) {
  const ValueId output = writer_.result(writer_.fresh_value_name(name));
  PX_RETURN_IF_ERROR(discard(writer_.node({.name = std::move(name),
                                           .op = op,
                                           .attributes = std::move(attributes),
                                           .inputs = std::move(inputs),
                                           .outputs = {output}})));
  return output;
}

/// Adds the empty sequence with which each result of a SequenceMap begins.
Status Assembler::add_empty_sequences(Node& loop, const CheckedBody& body) {
  for (const OnnxValueInfo& output : body.checked.graph.outputs) {
    if (!output.is_tensor || !output.containers.empty())
      return unsupported("SequenceMap: the body must declare its outputs as tensors");
    Attributes attributes;
    attributes.set("dtype", output.element_type);
    PX_ASSIGN(loop.inputs.emplace_back(),
              add_op(OpKind::kSequenceEmpty, {}, std::move(attributes), loop.name + "/empty"));
  }
  return {};
}

/// A Loop over the positions of the first sequence, which appends what its body makes of the
/// elements there to a sequence for each result.
Status Assembler::add_sequence_map(const OnnxNode& file_node, std::size_t index) {
  PX_RETURN_IF_ERROR(infer_added());
  PX_ASSIGN(const auto bodies, bodies_of(file_node, index));
  const CheckedBody& body = *bodies[0];
  std::vector<ValueId> inputs;
  for (const OnnxUse& input : file_node.inputs) inputs.push_back(id_of(input));
  const bool all = std::ranges::all_of(inputs, [](ValueId id) { return id.valid(); });
  if (inputs.empty() || !all || inputs.size() != body.checked.graph.inputs.size() ||
      file_node.outputs.size() != body.checked.graph.outputs.size())
    return invalid_model("SequenceMap: the body has other numbers of inputs and outputs");

  Node loop{.name = onnx_node_name(file_node, index),
            .op = OpKind::kLoop,
            .attributes = {},
            .inputs = {},
            .outputs = {}};
  PX_ASSIGN(const ValueId length,
            add_op(OpKind::kSequenceLength, {inputs[0]}, {}, loop.name + "/length"));
  loop.inputs = {length, ValueId{}};
  PX_RETURN_IF_ERROR(add_empty_sequences(loop, body));
  std::vector<Capture> captures;
  for (const std::string_view capture : body.checked.captures)
    captures.push_back({capture, id_of(capture)});
  PX_RETURN_IF_ERROR(infer_added());
  Assembler part(body.checked, context_);
  PX_RETURN_IF_ERROR(part.begin_map_body(*this, loop, captures, inputs));
  PX_RETURN_IF_ERROR(part.add_nodes());
  PX_RETURN_IF_ERROR(part.end_map_body());
  loop.bodies = {std::make_shared<const Graph>(part.graph_)};
  for (const OnnxUse& output : file_node.outputs) {
    loop.outputs.push_back(writer_.result(output.name.empty()
                                              ? writer_.fresh_value_name(loop.name + "/unread")
                                              : std::string(output.name)));
    if (!output.name.empty()) values_[output.index] = loop.outputs.back();
  }
  PX_RETURN_IF_ERROR(discard(writer_.node(std::move(loop))));
  return infer_added();
}

/// The inputs of the body of a SequenceMap as nodes of the Loop's: elements of sequences, and
/// tensors as they are.
Status Assembler::begin_map_body(const Assembler& around, Node& loop,
                                 std::span<const Capture> captures,
                                 std::span<const ValueId> inputs) {
  graph_.name = file_.name;
  reserve();
  for (const Capture& capture : captures) writer_.reserve_value_name(capture.name);
  PX_RETURN_IF_ERROR(add_initializers());
  const ValueId position = add_input(writer_.fresh_value_name("position"));
  add_input(writer_.fresh_value_name("condition"));
  for (std::size_t i = 2; i < loop.inputs.size(); ++i)
    add_input(writer_.fresh_value_name("sequence"));
  add_captures(around, captures);
  for (const Capture& capture : captures) {
    if (around.graph_.values[capture.id].constant) continue;
    loop.inputs.push_back(capture.id);
    ++loop.captures;
  }
  std::vector<ValueId> inside;
  for (const ValueId id : inputs) {
    const Value& value = around.graph_.values[id];
    if (value.constant) {
      inside.push_back(writer_.constant(writer_.fresh_value_name(value.name), *value.constant));
      continue;
    }
    inside.push_back(add_input(writer_.fresh_value_name(value.name)));
    loop.inputs.push_back(id);
    ++loop.captures;
  }
  PX_RETURN_IF_ERROR(seed(around, loop, file_.outputs.size() + 1));
  for (std::size_t i = 0; i < inside.size(); ++i) {
    ValueId& id = id_of(file_.inputs[i].name);
    if (id.valid()) return unsupported("SequenceMap: an input of the body has an initializer");
    id = inside[i];
    if (graph_.values[id].container == nullptr) continue;
    PX_ASSIGN(id, add_op(OpKind::kSequenceAt, {inside[i], position}, {},
                         std::string(file_.inputs[i].name)));
  }
  return {};
}

Status Assembler::end_map_body() {
  const std::vector<ValueId> made = std::exchange(graph_.outputs, {graph_.inputs[1]});
  for (std::size_t i = 0; i < made.size(); ++i) {
    PX_ASSIGN(graph_.outputs.emplace_back(),
              add_op(OpKind::kSequenceInsert, {graph_.inputs[2 + i], made[i]}, {},
                     graph_.name + "/insert"));
  }
  return {};
}

}  // namespace parallax
