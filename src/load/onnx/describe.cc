#include "load/onnx/describe.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "load/names.h"
#include "load/onnx/metadata.h"
#include "load/onnx/normalize/normalize.h"
#include "load/onnx/onnx.h"
#include "load/onnx/structure.h"
#include "load/onnx/tensor.h"

namespace parallax {
namespace {

FileTensor describe(const OnnxValueInfo& info) {
  FileTensor tensor{std::string(info.name), {}, {}};
  for (const ObjectType container : info.containers)
    tensor.type += std::string(to_string(container)) + " of ";
  if (info.is_tensor) tensor.type += onnx_type_name(info.element_type);
  if (!info.shape || !info.containers.empty()) return tensor;
  tensor.shape.emplace();
  for (const OnnxDimension& dim : *info.shape) {
    const bool fixed = dim.value && *dim.value >= 0;
    tensor.shape->push_back(
        {fixed ? *dim.value : -1, fixed ? std::string() : std::string(dim.param)});
  }
  return tensor;
}

class Describer {
 public:
  explicit Describer(const OnnxModel& model)
      : model_(model), good_opsets_(check_opsets(model).has_value()) {
    report_.format = "ONNX";
    report_.format_version = model.ir_version.value_or(0);
    for (const OnnxOpset& opset : model.opsets) {
      opsets_.emplace(opset.domain, opset.version);
      report_.opsets.emplace_back(opset.domain, opset.version);
    }
  }

  Result<FileReport> report() {
    for (const std::string_view bytes : model_.functions) PX_RETURN_IF_ERROR(add_function(bytes));
    PX_RETURN_IF_ERROR(add_graph(*model_.graph, 0, nullptr));
    for (const auto& [key, count] : operators_) {
      const auto& [domain, name] = key;
      const auto opset = opsets_.find(domain);
      const bool known = good_opsets_ && opset != opsets_.end() &&
                         (!domain.empty() || check_onnx_opset(opset->second));
      const bool supported =
          functions_.contains(key) || (known && is_supported_operator(domain, name, opset->second));
      report_.operators.push_back({std::string(domain),
                                   std::string(name),
                                   opset == opsets_.end() ? 0 : opset->second,
                                   count,
                                   supported,
                                   {}});
    }
    std::ranges::stable_sort(report_.operators, std::greater{}, &FileOperator::count);
    for (auto& [type, weights] : weights_) {
      weights.type = onnx_type_name(type);
      report_.weights.push_back(std::move(weights));
    }
    std::ranges::stable_sort(report_.weights, std::greater{}, &FileWeights::bytes);
    return std::move(report_);
  }

  bool is_function(const FileOperator& op) const {
    return functions_.contains({op.domain, op.name});
  }

 private:
  /// Operators in the body of a function count once, however often it is called.
  Status add_function(std::string_view bytes) {
    PX_ASSIGN(const OnnxFunction function, parse_onnx_function(bytes));
    functions_.emplace(function.domain, function.name);
    for (const OnnxOpset& opset : function.opsets) opsets_.emplace(opset.domain, opset.version);
    for (std::size_t i = 0; i < function.body.nodes.size(); ++i)
      PX_RETURN_IF_ERROR(add_node(function.body.nodes[i], i, 0));
    return {};
  }

  Status add_graph(std::string_view bytes, int depth, FileBody* body) {
    if (depth > kMaxNesting)
      return unsupported(fmt::format("subgraphs are nested more than {} deep", kMaxNesting));
    PX_ASSIGN(const OnnxGraph graph, parse_onnx_graph(bytes));
    if (body != nullptr) {
      body->nodes = static_cast<int>(graph.nodes.size());
      report_.bodies.push_back(*body);
    }
    for (const OnnxTensor& tensor : graph.initializers) add_weight(tensor);
    for (const OnnxSparseTensor& tensor : graph.sparse_initializers) add_weight(tensor.values);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      PX_RETURN_IF_ERROR(add_node(graph.nodes[i], i, depth));
    if (depth > 0) return {};
    add_ports(graph);
    report_.metadata = onnx_metadata(model_, graph.name);
    return {};
  }

  void add_ports(const OnnxGraph& graph) {
    std::set<std::string_view> initializers;
    for (const OnnxTensor& tensor : graph.initializers) initializers.insert(tensor.name);
    for (const OnnxSparseTensor& tensor : graph.sparse_initializers)
      initializers.insert(tensor.values.name);
    for (const OnnxValueInfo& input : graph.inputs) {
      const bool initialized = initializers.contains(input.name);
      if (initialized && report_.format_version < 4) continue;
      report_.inputs.push_back(describe(input));
      report_.inputs.back().has_default = initialized;
    }
    for (const OnnxValueInfo& output : graph.outputs) report_.outputs.push_back(describe(output));
  }

  Status add_node(const OnnxNode& node, std::size_t index, int depth) {
    ++report_.nodes;
    ++operators_[{node.domain, node.op_type}];
    for (const OnnxAttribute& attribute : node.attributes) {
      if (attribute.tensor && node.op_type == "Constant") {
        PX_ASSIGN(const OnnxTensor tensor, parse_onnx_tensor(*attribute.tensor));
        add_weight(tensor);
      }
      for (const std::string_view bytes : attribute.graphs) {
        FileBody body{onnx_node_name(node, index), std::string(node.op_type),
                      std::string(attribute.name), depth + 1, 0};
        PX_RETURN_IF_ERROR(add_graph(bytes, depth + 1, &body));
      }
    }
    return {};
  }

  /// Counts a weight; one of more than 63 bits of elements as 0, since loading refuses it.
  void add_weight(const OnnxTensor& tensor) {
    FileWeights& weights = weights_[tensor.data_type];
    ++weights.tensors;
    const bool negative = std::ranges::any_of(tensor.dims, [](std::int64_t d) { return d < 0; });
    const auto elements = negative ? std::nullopt : Dims(tensor.dims).checked_elements();
    const auto bytes = elements ? onnx_bytes(tensor.data_type, *elements) : std::nullopt;
    const auto parameters = bytes ? checked_add(weights.parameters, *elements) : std::nullopt;
    const auto total = parameters ? checked_add(weights.bytes, *bytes) : std::nullopt;
    if (!total) return;
    weights.parameters = *parameters;
    weights.bytes = *total;
  }

  using Operator = std::pair<std::string_view, std::string_view>;  // domain, name

  const OnnxModel& model_;
  const bool good_opsets_;
  FileReport report_;
  std::map<std::string_view, std::int64_t> opsets_;
  std::map<std::int64_t, FileWeights> weights_;  // keyed by type
  std::map<Operator, int> operators_;
  std::set<Operator> functions_;  // functions of the model
};

}  // namespace

Result<DescribedModel> describe_onnx(std::span<const std::byte> bytes) {
  PX_ASSIGN(const OnnxModel model, parse_onnx_file(bytes));
  DescribedModel described;
  Describer describer(model);
  PX_ASSIGN(described.report, describer.report());
  for (const FileOperator& op : described.report.operators) {
    const bool node = op.supported && op.name != "Constant" && !describer.is_function(op);
    described.kinds.push_back(node ? std::optional(onnx_rule(op.domain, op.name).kind)
                                   : std::nullopt);
  }
  return described;
}

}  // namespace parallax
