#include "load/onnx/assemble.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/status.h"
#include "load/onnx/attributes.h"
#include "load/onnx/graph_memory.h"
#include "load/onnx/inputs.h"
#include "load/onnx/names.h"
#include "load/onnx/normalize/normalize.h"
#include "load/onnx/sparse.h"
#include "load/onnx/tensor.h"
#include "ops/control_flow.h"
#include "ops/infer.h"

namespace parallax {
namespace {

/// What all graphs of a file share.
struct FileContext {
  const ModelBytes& model;
  ExternalData& external;
  LoadBudget& budget;
};

/// A value that is an optional may be declared as what is in it: a Loop begins with an optional and
/// goes on with its element.
Status check_container(const OnnxValueInfo& info, const Value& value, std::string_view what) {
  std::span<const ObjectType> declared = info.containers, known;
  if (value.container != nullptr) known = value.container->types;
  const auto is_optional = [](std::span<const ObjectType> types) {
    return !types.empty() && types.front() == ObjectType::kOptional;
  };
  if (is_optional(declared)) declared = declared.subspan(1);
  if (is_optional(known)) known = known.subspan(1);
  if (std::ranges::equal(declared, known)) return {};
  return invalid_model(
      fmt::format("{} {} is declared as another type than it is", what, quote(info.name)));
}

template <class T>
Status discard(const Result<T>& result) {
  return result ? Status() : tl::unexpected(result.error());
}

class Assembler {
 public:
  Assembler(const CheckedGraph& checked, FileContext& context)
      : checked_(checked),
        file_(checked.graph),
        context_(context),
        writer_(graph_, checked.names),
        inference_(graph_, context.budget),
        values_(checked.names.size()) {
    context.budget.allow_nodes(std::ssize(file_.nodes));
  }

  /// `spent`: the graph of the file, whose nodes go as they are read: what they take and what the
  /// graph takes are not there together.
  Result<Graph> assemble(OnnxGraph& spent);

 private:
  /// A value of the graph around a body that the body reads.
  struct Capture {
    std::string_view name;
    ValueId id;
  };

  Status add_nodes(OnnxGraph* spent = nullptr);
  Status infer_added();
  // Control flow.
  Result<std::vector<const CheckedBody*>> bodies_of(const OnnxNode& file_node,
                                                    std::size_t index) const;
  std::vector<const CheckedBody*> taken(const Node& node,
                                        std::vector<const CheckedBody*> bodies) const;
  Status add_control_flow(const OnnxNode& file_node, std::size_t index, OpKind op);
  Status begin_body(const Assembler& around, Node& node, std::span<const Capture> captures);
  Status add_body_inputs(std::size_t scalars);
  void add_captures(const Assembler& around, std::span<const Capture> captures);
  Status seed(const Assembler& around, const Node& node, std::size_t outputs);
  // SequenceMap.
  Status add_sequence_map(const OnnxNode& file_node, std::size_t index);
  Status add_empty_sequences(Node& loop, const CheckedBody& body);
  Status begin_map_body(const Assembler& around, Node& loop, std::span<const Capture> captures,
                        std::span<const ValueId> inputs);
  Status end_map_body();
  Result<ValueId> add_op(OpKind op, std::vector<ValueId> inputs, Attributes attributes,
                         std::string name);
  ValueId add_input(std::string name);
  Status check_body(const Graph& body) const;
  Status expand_in_bodies(NodeId node, std::span<const std::unique_ptr<Assembler>> bodies);

  void reserve();
  Status check_size();
  Status add_initializers();
  Status add_inputs();
  Status add_constant(const OnnxNode& file_node);
  Status add_file_node(std::size_t index);
  Status add_node(const OnnxNode& file_node, std::size_t index, const OnnxRule& rule);
  Status infer();
  Status check_output(const OnnxValueInfo& output, const Value& value) const;
  ValueId& id_of(std::string_view name) { return values_[checked_.names.at(name).index]; }
  /// Whether something reads the name, which the graph defines.
  bool is_read(std::string_view name) const {
    const auto found = checked_.names.find(name);
    return found == checked_.names.end() || found->second.read;
  }
  ValueId id_of(const OnnxUse& use) const {
    return use.name.empty() ? ValueId{} : values_[use.index];
  }

  const CheckedGraph& checked_;
  const OnnxGraph& file_;
  FileContext& context_;
  Graph graph_;
  GraphWriter writer_;
  Inference inference_;
  std::vector<ValueId> values_;  ///< by Definition::index; invalid: not made yet
  std::vector<NodeId> softmax_blocks_;
  std::int32_t inferred_ = 0;  ///< nodes whose outputs have shapes
};

/// Room for what the file has, and for some constants that rules add.
void Assembler::reserve() {
  graph_.values.reserve(checked_.names.size() + file_.nodes.size() / 8);
  graph_.nodes.reserve(file_.nodes.size());
}

Status Assembler::check_size() {
  const std::int64_t bytes = memory_of_graph(checked_);
  if (context_.budget.need_node_bytes(bytes)) return {};
  return unsupported(
      fmt::format("the graph would take {} MiB of memory, which is too much for a file of {} KiB",
                  bytes >> 20, context_.model.bytes.size() >> 10));
}

/// Initializers that nothing reads are left out, whatever they hold.
Status Assembler::add_initializers() {
  for (const OnnxTensor& tensor : file_.initializers) {
    if (!is_read(tensor.name)) continue;
    PX_ASSIGN(Constant constant, read_tensor(tensor, context_.model.owner, context_.external));
    id_of(tensor.name) = writer_.constant(std::string(tensor.name), std::move(constant));
  }
  for (const OnnxSparseTensor& tensor : file_.sparse_initializers) {
    if (!is_read(tensor.values.name)) continue;
    PX_ASSIGN(Constant constant,
              read_sparse_tensor(tensor, context_.model.owner, context_.external, context_.budget));
    const std::string_view name = tensor.values.name;
    id_of(name) = writer_.constant(std::string(name), std::move(constant));
  }
  return {};
}

/// An input that nothing reads is left out where its type is not supported.
Status Assembler::add_inputs() {
  InputReader reader(graph_, file_.inputs);
  for (const OnnxValueInfo& input : file_.inputs) {
    const Definition& definition = checked_.names.at(input.name);
    ValueId& id = values_[definition.index];
    if (id.valid()) PX_RETURN_IF_ERROR(check_default(input, graph_.values[id]));
    if (definition.initialized) continue;
    auto read = reader.read(input);
    if (!read && !definition.read) continue;
    if (!read) return tl::unexpected(std::move(read).error());
    id = graph_.values.push_back(*std::move(read));
    graph_.inputs.push_back(id);
  }
  return {};
}

Status Assembler::add_constant(const OnnxNode& file_node) {
  if (file_node.outputs.size() == 1 && !is_read(file_node.outputs[0].name)) return {};
  PX_ASSIGN(Constant constant,
            constant_of(file_node, context_.model.owner, context_.external, context_.budget));
  const OnnxUse& output = file_node.outputs[0];
  values_[output.index] = writer_.constant(std::string(output.name), std::move(constant));
  return {};
}

Status Assembler::add_node(const OnnxNode& file_node, std::size_t index, const OnnxRule& rule) {
  Node node{.name = onnx_node_name(file_node, index),
            .op = rule.kind,
            .attributes = {},
            .inputs = {},
            .outputs = {}};
  PX_ASSIGN(node.attributes, read_attributes(file_node, context_.model.owner, context_.external));
  node.inputs.reserve(file_node.inputs.size());
  for (const OnnxUse& input : file_node.inputs) node.inputs.push_back(id_of(input));
  while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
  for (const OnnxUse& output : file_node.outputs) {
    node.outputs.push_back(ValueId{});
    if (output.name.empty()) continue;
    if (node.outputs.size() > 1 && !checked_.names.at(output.name).read) continue;
    node.outputs.back() = values_[output.index] = writer_.result(std::string(output.name));
  }
  FileNode rewritten{
      .opset = *file_node.opset,
      .node = node,
      .writer = writer_,
      .type = file_node.op_type,
      .outputs = file_node.outputs,
      .infer = [this] { return infer_added(); },
  };
  if (file_node.domain.empty() && rewritten.opset < 6) node.attributes.erase("consumed_inputs");
  if (rule.rewrite != nullptr) PX_RETURN_IF_ERROR(rule.rewrite(rewritten));
  PX_ASSIGN(const NodeId id, writer_.node(std::move(node)));
  if (rewritten.softmax_block) softmax_blocks_.push_back(id);
  return {};
}

Status Assembler::infer() {
  PX_RETURN_IF_ERROR(infer_graph(graph_, context_.budget));
  PX_ASSIGN(const bool expanded, expand_softmax_blocks(writer_, softmax_blocks_));
  return expanded ? infer_graph(graph_, context_.budget) : Status();
}

/// Declared shapes of outputs are hints that exporters often get wrong; element types are not.
Status Assembler::check_output(const OnnxValueInfo& output, const Value& value) const {
  const DType dtype = value.dtype;
  if (!output.is_tensor || output.element_type == 0) return {};
  PX_RETURN_IF_ERROR(check_container(output, value, "output"));
  const auto declared = onnx_dtype(output.element_type, "output " + quote(output.name));
  if (!declared) return tl::unexpected(declared.error());
  if (*declared == dtype) return {};
  return invalid_model(fmt::format("output {} is declared as {} but is {}", quote(output.name),
                                   to_string(*declared), to_string(dtype)));
}

Status Assembler::add_file_node(std::size_t index) {
  const OnnxNode& node = file_.nodes[index];
  if (is_constant(node)) return add_constant(node);
  if (is_sequence_map(node)) return add_sequence_map(node, index);
  const OnnxRule rule = onnx_rule(node.domain, node.op_type);
  return is_control_flow(rule.kind) ? add_control_flow(node, index, rule.kind)
                                    : add_node(node, index, rule);
}

Status Assembler::add_nodes(OnnxGraph* spent) {
  for (const std::size_t i : checked_.order) {
    auto status = add_file_node(i);
    if (status && spent != nullptr) spent->nodes[i] = {};
    if (status) continue;
    if (status.error().node.empty()) status.error().node = onnx_node_name(file_.nodes[i], i);
    return status;
  }
  for (const OnnxValueInfo& output : file_.outputs) graph_.outputs.push_back(id_of(output.name));
  return {};
}

Result<Graph> Assembler::assemble(OnnxGraph& spent) {
  graph_.name = file_.name;
  reserve();
  PX_RETURN_IF_ERROR(add_initializers());
  PX_RETURN_IF_ERROR(check_size());
  PX_RETURN_IF_ERROR(add_inputs());
  PX_RETURN_IF_ERROR(add_nodes(&spent));
  spent.nodes = {};
  PX_RETURN_IF_ERROR(infer());
  for (std::size_t i = 0; i < file_.outputs.size(); ++i)
    PX_RETURN_IF_ERROR(check_output(file_.outputs[i], graph_.values[graph_.outputs[i]]));
  return std::move(graph_);
}

/// Shapes of the nodes so far: a body is built for the shapes that it reads.
Status Assembler::infer_added() {
  for (; inferred_ < static_cast<std::int32_t>(graph_.nodes.size()); ++inferred_)
    PX_RETURN_IF_ERROR(inference_.infer(NodeId{inferred_}));
  return {};
}

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
  std::vector<std::shared_ptr<const Graph>> graphs;
  for (const CheckedBody* body : bodies) {
    if (!graphs.empty() && body == bodies[0]) {
      graphs.push_back(graphs[0]);
      continue;
    }
    parts.push_back(std::make_unique<Assembler>(body->checked, context_));
    PX_RETURN_IF_ERROR(parts.back()->begin_body(*this, node, captures));
    PX_RETURN_IF_ERROR(parts.back()->add_nodes());
    graphs.push_back(std::make_shared<const Graph>(parts.back()->graph_));
  }
  node.bodies = std::move(graphs);
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
    // What only the other branch reads may have the name of something here: it stays out of reach.
    const auto known = checked_.names.find(capture.name);
    const bool hidden = known == checked_.names.end() || !known->second.captured;
    std::string name(capture.name);
    if (hidden) name = writer_.fresh_value_name(name);
    ValueId id;
    if (outside.constant) {
      if (hidden) continue;
      id = writer_.constant(std::move(name), *outside.constant);
    } else {
      id = add_input(std::move(name));
    }
    if (!hidden) values_[known->second.index] = id;
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
  return seed_body(around.graph_, shell, graph_, context_.budget);
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

/// What each result of a SequenceMap begins with.
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

}  // namespace

Result<Graph> assemble_graph(CheckedGraph file, const ModelBytes& model, ExternalData& external,
                             LoadBudget& budget) {
  FileContext context{model, external, budget};
  return Assembler(file, context).assemble(file.graph);
}

}  // namespace parallax
