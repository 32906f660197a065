// Nodes with bodies: If, Loop and Scan.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <span>
#include <utility>

#include "base/name_map.h"
#include "base/status.h"
#include "load/onnx/assembler.h"
#include "load/onnx/attributes.h"
#include "load/onnx/tensor.h"
#include "ops/control_flow.h"

namespace parallax {

/// The bodies of a node in the order that the graph wants.
Result<std::vector<const CheckedBody*>> Assembler::bodies_of(const OnnxNode& file_node,
                                                             std::size_t index) const {
  std::vector<std::string_view> attributes = {"body"};
  if (file_node.op_type == "If") attributes = {"then_branch", "else_branch"};
  const auto found = checked_.bodies.find(index);
  const std::size_t count = found == checked_.bodies.end() ? 0 : found->second.size();
  std::vector<const CheckedBody*> result;
  for (const std::string_view attribute : attributes) {
    for (std::size_t i = 0; i < count; ++i)
      if (found->second[i].attribute == attribute) result.push_back(&found->second[i]);
  }
  if (result.size() == attributes.size() && count == result.size() &&
      (count == 1 || result[0]->attribute != result[1]->attribute))
    return result;
  return invalid_model(fmt::format("{}: must have a graph as attribute {}", file_node.op_type,
                                   fmt::join(attributes, " and one as ")));
}

/// The branch that an If takes, twice, where its condition is known.
std::vector<const CheckedBody*> Assembler::taken(const Node& node,
                                                 std::vector<const CheckedBody*> bodies) const {
  if (node.op != OpKind::kIf || node.inputs.empty() || !node.inputs[0].valid()) return bodies;
  const auto condition = known_scalar(graph_.values[node.inputs[0]]);
  if (!condition) return bodies;
  const CheckedBody* const body = bodies[*condition != 0 ? 0 : 1];
  return {body, body};
}

/// Builds the bodies of `node`, into `parts` without repetitions. If nodes are noted, those of all
/// bodies are, before the error.
Result<std::vector<std::shared_ptr<const Graph>>> Assembler::add_bodies(
    Node& node, std::span<const CheckedBody* const> bodies, std::span<const Capture> captures,
    std::vector<std::unique_ptr<Assembler>>& parts) {
  std::vector<std::shared_ptr<const Graph>> graphs;
  bool noted = false;
  for (const CheckedBody* body : bodies) {
    if (!graphs.empty() && body == bodies[0]) {
      graphs.push_back(graphs[0]);
      continue;
    }
    parts.push_back(std::make_unique<Assembler>(body->checked, context_));
    PX_RETURN_IF_ERROR(parts.back()->begin_body(*this, node, captures));
    Status added = parts.back()->add_nodes();
    if (!added && !std::exchange(context_.noted_in_body, false))
      return tl::unexpected(std::move(added).error());
    noted = noted || !added;
    graphs.push_back(std::make_shared<const Graph>(parts.back()->graph_));
  }
  if (!noted) return graphs;
  context_.noted_in_body = true;
  return unsupported("bodies with nodes that cannot run");
}

Status Assembler::add_control_flow(const OnnxNode& file_node, std::size_t index, OpKind op) {
  PX_RETURN_IF_ERROR(infer_added());
  Node node{.name = onnx_node_name(file_node, index),
            .op = op,
            .attributes = {},
            .inputs = {},
            .outputs = {}};
  PX_ASSIGN(node.attributes, read_attributes(file_node, context_.model.owner, context_.external));
  for (const OnnxUse& input : file_node.inputs) node.inputs.push_back(id_of(input));
  if (node.op == OpKind::kLoop && node.inputs.size() < 2) node.inputs.resize(2);
  PX_ASSIGN(auto bodies, bodies_of(file_node, index));
  bodies = taken(node, std::move(bodies));

  std::vector<Capture> captures;
  NameSet captured;
  for (const CheckedBody* body : bodies) {
    for (const std::string_view capture : body->checked.captures) {
      const ValueId id = id_of(capture);
      if (!captured.insert(capture).second) continue;
      captures.push_back({capture, id});
      if (graph_.values[id].constant) continue;
      node.inputs.push_back(id);
      ++node.captures;
    }
  }
  std::vector<std::unique_ptr<Assembler>> parts;
  PX_ASSIGN(node.bodies, add_bodies(node, bodies, captures, parts));
  // Outputs that the node leaves out are still made by the body.
  const std::size_t own = node.op == OpKind::kLoop ? 1 : 0;
  const std::size_t outputs = node.bodies[0]->outputs.size();
  for (const OnnxUse& output : file_node.outputs) {
    node.outputs.push_back(ValueId{});
    if (output.name.empty()) continue;
    node.outputs.back() = values_[output.index] = writer_.result(std::string(output.name));
  }
  if (outputs > own && node.outputs.size() < outputs - own) node.outputs.resize(outputs - own);
  PX_ASSIGN(const NodeId id, writer_.node(std::move(node)));
  PX_RETURN_IF_ERROR(infer_added());
  PX_RETURN_IF_ERROR(expand_in_bodies(id, parts));
  for (std::size_t i = 0; i < parts.size(); ++i)
    PX_RETURN_IF_ERROR(parts[i]->check_body(*graph_.nodes[id].bodies[i]));
  return {};
}

/// Everything but the nodes of a body; its inputs get their types from the node.
Status Assembler::begin_body(const Assembler& around, Node& node,
                             std::span<const Capture> captures) {
  graph_.name = file_.name;
  reserve();
  for (const Capture& capture : captures) writer_.reserve_value_name(capture.name);
  PX_RETURN_IF_ERROR(add_initializers());
  PX_RETURN_IF_ERROR(add_body_inputs(node.op == OpKind::kLoop ? 2 : 0));
  add_captures(around, captures);
  return seed(around, node, file_.outputs.size());
}

void Assembler::add_captures(const Assembler& around, std::span<const Capture> captures) {
  for (const Capture& capture : captures) {
    const Value& outside = around.graph_.values[capture.id];
    // A value that only the other branch reads may have the name of one here, which hides it.
    const Definition* const known = checked_.names.find(capture.name);
    const bool hidden = known == nullptr || !known->captured;
    std::string name(capture.name);
    if (hidden) name = writer_.fresh_value_name(name);
    ValueId id;
    if (outside.constant) {
      if (hidden) continue;
      id = writer_.constant(std::move(name), *outside.constant);
    } else {
      id = add_input(std::move(name));
    }
    if (!hidden) values_[known->index] = id;
  }
}

/// The counts are all that giving types asks of a body.
Status Assembler::seed(const Assembler& around, const Node& node, std::size_t outputs) {
  Graph counts;
  counts.inputs = graph_.inputs;
  counts.outputs.resize(outputs);
  Node shell = node;
  shell.bodies = {std::make_shared<const Graph>(counts)};
  shell.outputs.resize(outputs - (node.op == OpKind::kLoop && outputs > 0 ? 1 : 0));
  return seed_body(around.graph_, shell, graph_, context_.quota);
}

ValueId Assembler::add_input(std::string name) {
  Value value;
  value.name = std::move(name);
  value.kind = ValueKind::kInput;
  graph_.inputs.push_back(graph_.values.push_back(std::move(value)));
  return graph_.inputs.back();
}

/// `scalars`: how many inputs may be declared with one element instead of as scalars.
Status Assembler::add_body_inputs(std::size_t scalars) {
  for (std::size_t i = 0; i < file_.inputs.size(); ++i) {
    const OnnxValueInfo& input = file_.inputs[i];
    ValueId& id = id_of(input.name);
    if (id.valid()) {
      return unsupported(fmt::format("input {} of a body has an initializer", quote(input.name)));
    }
    id = add_input(std::string(input.name));
    if (i < scalars && input.shape && input.shape->size() == 1) graph_.values[id].shape = {1};
  }
  return {};
}

/// Declared element types, which must be those that the body has.
Status Assembler::check_body(const Graph& body) const {
  const auto check = [&](const OnnxValueInfo& info, ValueId id, std::string_view what) -> Status {
    if (!info.is_tensor || info.element_type == 0) return {};
    PX_RETURN_IF_ERROR(check_container(info, body.values[id], what));
    PX_ASSIGN(const DType declared,
              onnx_dtype(info.element_type, fmt::format("{} {}", what, quote(info.name))));
    if (declared == body.values[id].dtype) return {};
    return invalid_model(fmt::format("{} {} of a body is declared as {} but is {}", what,
                                     quote(info.name), to_string(declared),
                                     to_string(body.values[id].dtype)));
  };
  for (std::size_t i = 0; i < file_.inputs.size(); ++i) {
    if (!is_read(file_.inputs[i].name)) continue;
    PX_RETURN_IF_ERROR(check(file_.inputs[i], body.inputs[i], "input"));
  }
  for (std::size_t i = 0; i < file_.outputs.size(); ++i)
    PX_RETURN_IF_ERROR(check(file_.outputs[i], body.outputs[i], "output"));
  return {};
}

/// Softmax nodes of old operator sets in the bodies of `node`, now that their shapes are final.
Status Assembler::expand_in_bodies(NodeId node,
                                   std::span<const std::unique_ptr<Assembler>> bodies) {
  bool any = false;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    Assembler& part = *bodies[i];
    if (part.softmax_blocks_.empty()) continue;
    any = true;
    const auto before = graph_.nodes[node].bodies[i];
    part.graph_ = *before;
    PX_RETURN_IF_ERROR(expand_softmax_blocks(part.writer_, part.softmax_blocks_));
    const auto after = std::make_shared<const Graph>(part.graph_);
    for (auto& body : graph_.nodes[node].bodies)
      if (body == before) body = after;
  }
  return any ? inference_.infer(node) : Status();
}

}  // namespace parallax
