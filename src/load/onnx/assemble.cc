#include "load/onnx/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/assembler.h"
#include "load/onnx/attributes.h"
#include "load/onnx/graph_memory.h"
#include "load/onnx/inputs.h"
#include "load/onnx/normalize/normalize.h"
#include "load/onnx/sparse.h"
#include "load/onnx/tensor.h"
#include "ops/control_flow.h"
#include "ops/infer.h"

namespace parallax {

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

/// Room for what the file has, and for some constants that rules add.
void Assembler::reserve() {
  graph_.values.reserve(checked_.names.size() + file_.nodes.size() / 8);
  graph_.nodes.reserve(file_.nodes.size());
}

Status Assembler::check_size() {
  const std::int64_t bytes = memory_of_graph(checked_);
  if (context_.quota.need_node_bytes(bytes)) return {};
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
              read_sparse_tensor(tensor, context_.model.owner, context_.external, context_.quota));
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
  if (file_node.outputs.size() == 1 && !is_read(file_node.outputs[0])) return {};
  PX_ASSIGN(Constant constant,
            constant_of(file_node, context_.model.owner, context_.external, context_.quota));
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
    if (node.outputs.size() > 1 && !is_read(output)) continue;
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
  PX_RETURN_IF_ERROR(infer_graph(graph_, context_.quota));
  PX_ASSIGN(const bool expanded, expand_softmax_blocks(writer_, softmax_blocks_));
  return expanded ? infer_graph(graph_, context_.quota) : Status();
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

/// Whether a node or its bodies read the result of a node that was noted.
bool Assembler::reads_missing(std::size_t index) const {
  const auto missing = [&](std::string_view name) {
    return !values_[checked_.names.at(name).index].valid();
  };
  const bool direct = std::ranges::any_of(file_.nodes[index].inputs, [&](const OnnxUse& input) {
    return !input.name.empty() && !id_of(input).valid();
  });
  const auto bodies = checked_.bodies.find(index);
  if (direct || bodies == checked_.bodies.end()) return direct;
  return std::ranges::any_of(bodies->second, [&](const CheckedBody& body) {
    return std::ranges::any_of(body.checked.captures, missing);
  });
}

/// Adds a node, or notes why that cannot run; its outputs stay without values then. Nodes in its
/// bodies are noted by the assemblers of these.
Status Assembler::add_or_note(std::size_t index) {
  if (std::ranges::binary_search(checked_.unsupported, index) || reads_missing(index)) return {};
  const OnnxNode& node = file_.nodes[index];
  Status status = add_file_node(index);
  if (status) status = infer_added();
  if (status) return {};
  const Error& error = status.error();
  if (error.code != ErrorCode::kUnsupported) return status;
  any_noted_ = true;
  if (!std::exchange(context_.noted_in_body, false)) {
    const bool own = error.node.empty() || error.node == onnx_node_name(node, index);
    context_.noted->push_back(note_of(node, index, own ? error.message : error.to_string()));
  }
  for (const OnnxUse& output : node.outputs)
    if (!output.name.empty()) values_[output.index] = {};
  inferred_ = static_cast<std::int32_t>(graph_.nodes.size());  // passes over parts of the node
  return {};
}

Status Assembler::add_nodes(OnnxGraph* spent) {
  for (const std::size_t i : checked_.order) {
    auto status = context_.noted == nullptr ? add_file_node(i) : add_or_note(i);
    if (status && spent != nullptr) spent->nodes[i] = {};
    if (status) continue;
    if (status.error().node.empty()) status.error().node = onnx_node_name(file_.nodes[i], i);
    return status;
  }
  if (any_noted_ || !checked_.unsupported.empty()) {
    context_.noted_in_body = true;
    return unsupported("nodes that cannot run");
  }
  for (const OnnxValueInfo& output : file_.outputs) graph_.outputs.push_back(id_of(output.name));
  return {};
}

/// Shapes of the nodes so far: a body is built for the shapes that it reads.
Status Assembler::infer_added() {
  for (; inferred_ < static_cast<std::int32_t>(graph_.nodes.size()); ++inferred_)
    PX_RETURN_IF_ERROR(inference_.infer(NodeId{inferred_}));
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

Result<Graph> assemble_graph(CheckedGraph file, const ModelBytes& model, ExternalFiles& external,
                             LoadQuota& quota, std::vector<UnsupportedNode>* noted) {
  FileContext context{model, external, quota, noted};
  return Assembler(file, context).assemble(file.graph);
}

}  // namespace parallax
