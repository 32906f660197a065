#include "load/onnx/assemble.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/status.h"
#include "load/onnx/attributes.h"
#include "load/onnx/inputs.h"
#include "load/onnx/names.h"
#include "load/onnx/normalize.h"
#include "load/onnx/tensor.h"
#include "ops/infer.h"

namespace parallax {
namespace {

class Assembler {
 public:
  Assembler(const OnnxGraph& file, std::int64_t opset, const ModelBytes& model)
      : file_(file), opset_(opset), model_(model), external_(model.folder), writer_(graph_) {}

  Result<Graph> assemble(std::span<const std::size_t> order);

 private:
  void reserve_names();
  Status add_initializers();
  Status add_inputs();
  Status add_constant(const OnnxNode& file_node, const std::string& name);
  Status add_node(const OnnxNode& file_node, const std::string& name);
  Status infer();
  Status check_output(const OnnxValueInfo& output) const;

  const OnnxGraph& file_;
  const std::int64_t opset_;
  const ModelBytes& model_;
  ExternalData external_;
  Graph graph_;
  GraphWriter writer_;
  std::map<std::string_view, ValueId> values_;
  std::set<std::string_view> read_;  ///< names that a node or the caller reads
  std::vector<NodeId> softmax_blocks_;
};

void Assembler::reserve_names() {
  for (const OnnxValueInfo& input : file_.inputs) writer_.reserve_value_name(input.name);
  for (const OnnxTensor& tensor : file_.initializers) writer_.reserve_value_name(tensor.name);
  for (const OnnxNode& node : file_.nodes) {
    for (const std::string_view output : node.outputs) writer_.reserve_value_name(output);
    read_.insert(node.inputs.begin(), node.inputs.end());
  }
  for (const OnnxValueInfo& output : file_.outputs) read_.insert(output.name);
}

Status Assembler::add_initializers() {
  for (const OnnxTensor& tensor : file_.initializers) {
    PX_ASSIGN(Constant constant, read_tensor(tensor, model_.owner, external_));
    values_.emplace(tensor.name, writer_.constant(std::string(tensor.name), std::move(constant)));
  }
  return {};
}

Status Assembler::add_inputs() {
  InputReader reader(graph_, file_.inputs);
  for (const OnnxValueInfo& input : file_.inputs) {
    if (const auto initializer = values_.find(input.name); initializer != values_.end()) {
      PX_RETURN_IF_ERROR(check_default(input, graph_.values[initializer->second]));
      continue;
    }
    PX_ASSIGN(Value value, reader.read(input));
    const ValueId id = graph_.values.push_back(std::move(value));
    graph_.inputs.push_back(id);
    values_.emplace(input.name, id);
  }
  return {};
}

Status Assembler::add_constant(const OnnxNode& file_node, const std::string& name) {
  PX_ASSIGN(Attributes attributes, read_attributes(file_node, name, model_.owner, external_));
  PX_ASSIGN(Constant constant, constant_of(file_node, name, attributes));
  const std::string_view output = file_node.outputs[0];
  values_.emplace(output, writer_.constant(std::string(output), std::move(constant)));
  return {};
}

Status Assembler::add_node(const OnnxNode& file_node, const std::string& name) {
  const OnnxRule rule = onnx_rule(file_node.op_type);
  Node node{.name = name, .op = rule.kind, .attributes = {}, .inputs = {}, .outputs = {}};
  PX_ASSIGN(node.attributes, read_attributes(file_node, name, model_.owner, external_));
  for (const std::string_view input : file_node.inputs) {
    node.inputs.push_back(input.empty() ? ValueId{} : values_.at(input));
  }
  while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
  for (const std::string_view output : file_node.outputs) {
    node.outputs.push_back(ValueId{});
    if (output.empty() || (node.outputs.size() > 1 && !read_.contains(output))) continue;
    node.outputs.back() = writer_.result(std::string(output));
    values_.emplace(output, node.outputs.back());
  }
  FileNode rewritten{.opset = opset_, .node = node, .writer = writer_};
  if (rule.rewrite != nullptr) PX_RETURN_IF_ERROR(rule.rewrite(rewritten));
  PX_ASSIGN(const NodeId id, writer_.node(std::move(node)));
  if (rewritten.softmax_block) softmax_blocks_.push_back(id);
  return {};
}

Status Assembler::infer() {
  PX_RETURN_IF_ERROR(infer_graph(graph_));
  PX_ASSIGN(const bool expanded, expand_softmax_blocks(writer_, softmax_blocks_));
  return expanded ? infer_graph(graph_) : Status();
}

/// Declared shapes of outputs are hints that exporters often get wrong; element types are not.
Status Assembler::check_output(const OnnxValueInfo& output) const {
  const DType dtype = graph_.values[values_.at(output.name)].dtype;
  if (!output.is_tensor || output.element_type == 0) return {};
  const auto declared = onnx_dtype(output.element_type, "output " + quote(output.name));
  if (!declared) return tl::unexpected(declared.error());
  if (*declared == dtype) return {};
  return invalid_model(fmt::format("output {} is declared as {} but is {}", quote(output.name),
                                   to_string(*declared), to_string(dtype)));
}

Result<Graph> Assembler::assemble(std::span<const std::size_t> order) {
  graph_.name = file_.name;
  reserve_names();
  PX_RETURN_IF_ERROR(add_initializers());
  PX_RETURN_IF_ERROR(add_inputs());
  for (const std::size_t i : order) {
    const OnnxNode& node = file_.nodes[i];
    const std::string name = onnx_node_name(node, i);
    auto status = node.op_type == "Constant" ? add_constant(node, name) : add_node(node, name);
    if (!status) {
      if (status.error().node.empty()) status.error().node = name;
      return tl::unexpected(std::move(status).error());
    }
  }
  for (const OnnxValueInfo& output : file_.outputs) {
    graph_.outputs.push_back(values_.at(output.name));
  }
  PX_RETURN_IF_ERROR(infer());
  for (const OnnxValueInfo& output : file_.outputs) PX_RETURN_IF_ERROR(check_output(output));
  return std::move(graph_);
}

}  // namespace

Result<Graph> assemble_graph(const OnnxGraph& file, std::span<const std::size_t> order,
                             std::int64_t opset, const ModelBytes& model) {
  return Assembler(file, opset, model).assemble(order);
}

}  // namespace parallax
