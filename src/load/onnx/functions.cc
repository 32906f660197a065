#include "load/onnx/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/name_map.h"
#include "base/status.h"
#include "ir/graph.h"
#include "load/names.h"
#include "load/onnx/function_call.h"
#include "load/onnx/structure.h"

namespace parallax {
namespace {

using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;

/// Returns about the bytes of a node once it is in a graph (graph_memory.h).
std::int64_t expanded_bytes(const OnnxNode& node) {
  constexpr std::int64_t kNode = 900, kInput = 25, kOutput = 600, kAttribute = 450;
  return kNode + std::ssize(node.inputs) * kInput + std::ssize(node.outputs) * kOutput +
         std::ssize(node.attributes) * kAttribute;
}

bool is_graph(const OnnxAttribute& attribute) {
  return attribute.type == OnnxAttributeType::kGraph;
}
bool has_graphs(const OnnxNode& node) { return std::ranges::any_of(node.attributes, is_graph); }

/// Whether inlining changes anything.
bool needs_inlining(const OnnxModel& model) {
  return !model.functions.empty() || imported_opset(model, "ai.onnx.preview").has_value();
}

class Inliner {
 public:
  Inliner(LoadQuota& quota, std::deque<std::string>& names) : quota_(quota), names_(names) {}

  Status add_functions(const OnnxModel& model);
  /// Learns the names of the file's graph.
  void add_names(const OnnxGraph& graph);
  /// Replaces the calls in `graph`, which is nested `depth` deep in bodies and functions.
  Status expand(OnnxGraph& graph, int depth);

 private:
  Status expand_bodies(OnnxNode& node, int depth);
  Status call(const OnnxNode& node, const OnnxFunction& function, std::vector<OnnxNode>& nodes,
              int depth);
  Status call_graph(const OnnxAttribute& attribute, const OnnxNode& node, std::string_view input,
                    std::string_view output, std::vector<OnnxNode>& nodes, int depth);
  Status split_attention(const OnnxNode& node, std::vector<OnnxNode>& nodes, int depth);
  Status add(OnnxNode node, std::vector<OnnxNode>& nodes, int depth);
  Status charge(std::int64_t bytes);

  LoadQuota& quota_;
  MadeNames names_;
  std::map<FunctionKey, OnnxFunction> functions_;
  std::set<FunctionKey> ambiguous_;         ///< defined twice
  std::vector<const OnnxFunction*> calls_;  ///< going on, the outermost first
  std::int64_t expanded_ = 0;               ///< bytes
  OnnxGraph* target_ = nullptr;             ///< the graph whose nodes are expanded
};

Status Inliner::add_functions(const OnnxModel& model) {
  for (const std::string_view bytes : model.functions) {
    PX_RETURN_IF_ERROR(charge(sizeof(OnnxFunction)));
    PX_ASSIGN(OnnxFunction function, parse_onnx_function(bytes));
    if (function.name.empty()) continue;  // nothing can call it
    const FunctionKey key{function.domain, function.name, function.overload};
    if (!functions_.emplace(key, std::move(function)).second) ambiguous_.insert(key);
  }
  return {};
}

void Inliner::add_names(const OnnxGraph& graph) {
  for (const OnnxValueInfo& input : graph.inputs) names_.reserve(input.name);
  for (const OnnxTensor& tensor : graph.initializers) names_.reserve(tensor.name);
  for (const OnnxSparseTensor& tensor : graph.sparse_initializers)
    names_.reserve(tensor.values.name);
  for (const OnnxNode& node : graph.nodes)
    for (const OnnxUse& output : node.outputs) names_.reserve(output.name);
}

Status Inliner::charge(std::int64_t bytes) {
  expanded_ += bytes;
  if (expanded_ <= quota_.needed_bytes_left()) return {};
  return unsupported(fmt::format(
      "the functions of the model expand to {} MiB of nodes, which is too much for its file",
      expanded_ >> 20));
}

Status Inliner::expand(OnnxGraph& graph, int depth) {
  if (depth > kMaxNesting)
    return unsupported(fmt::format("functions are nested more than {} deep", kMaxNesting));
  std::vector<OnnxNode> nodes;
  nodes.reserve(graph.nodes.size());
  OnnxGraph* const around = std::exchange(target_, &graph);
  for (OnnxNode& node : graph.nodes) PX_RETURN_IF_ERROR(add(std::move(node), nodes, depth));
  target_ = around;
  graph.nodes = std::move(nodes);
  return {};
}

/// Appends `node`, or what it stands for.
Status Inliner::add(OnnxNode node, std::vector<OnnxNode>& nodes, int depth) {
  if (!calls_.empty()) PX_RETURN_IF_ERROR(charge(expanded_bytes(node)));
  const auto function = functions_.find({node.domain, node.op_type, node.overload});
  if (function != functions_.end()) {
    if (ambiguous_.contains(function->first))
      return invalid_model(fmt::format("{} is defined twice", describe_function(function->second)));
    return call(node, function->second, nodes, depth);
  }
  if (node.op_type == "FlexAttention" && node.domain == "ai.onnx.preview" && has_graphs(node))
    return split_attention(node, nodes, depth);
  PX_RETURN_IF_ERROR(expand_bodies(node, depth));
  nodes.push_back(std::move(node));
  return {};
}

Status Inliner::expand_bodies(OnnxNode& node, int depth) {
  for (OnnxAttribute& attribute : node.attributes) {
    if (attribute.inlined.empty()) {
      for (const std::string_view bytes : attribute.graphs) {
        PX_ASSIGN(OnnxGraph body, parse_onnx_graph(bytes));
        add_names(body);
        attribute.inlined.push_back(std::make_shared<OnnxGraph>(std::move(body)));
      }
    }
    for (const auto& body : attribute.inlined) PX_RETURN_IF_ERROR(expand(*body, depth + 1));
  }
  return {};
}

Status Inliner::call(const OnnxNode& node, const OnnxFunction& function,
                     std::vector<OnnxNode>& nodes, int depth) {
  const std::string_view at = node.name.empty() ? node.op_type : node.name;
  if (std::ranges::find(calls_, &function) != calls_.end())
    return invalid_model(fmt::format("{} calls itself", describe_function(function)), at);
  if (depth >= kMaxNesting)
    return unsupported(fmt::format("functions are nested more than {} deep", kMaxNesting), at);
  FunctionCall call(node, function, names_);
  PX_RETURN_IF_ERROR(call.check(quota_));
  calls_.push_back(&function);
  for (const OnnxNode& inner : function.body.nodes) {
    const std::size_t before = names_.bytes();
    PX_ASSIGN(OnnxNode bound, call.bind(inner, quota_));
    PX_RETURN_IF_ERROR(charge(static_cast<std::int64_t>(names_.bytes() - before)));
    PX_RETURN_IF_ERROR(add(std::move(bound), nodes, depth + 1));
  }
  for (OnnxNode& copy : call.passed_on()) nodes.push_back(std::move(copy));
  calls_.pop_back();
  return {};
}

/// The nodes of a graph that `node` holds, which reads `input` and gives `output`.
Status Inliner::call_graph(const OnnxAttribute& attribute, const OnnxNode& node,
                           std::string_view input, std::string_view output,
                           std::vector<OnnxNode>& nodes, int depth) {
  OnnxGraph graph;
  if (!attribute.inlined.empty()) {
    graph = *attribute.inlined[0];
  } else if (attribute.graphs.size() == 1) {
    PX_ASSIGN(graph, parse_onnx_graph(attribute.graphs[0]));
  }
  if (graph.inputs.size() != 1 || graph.outputs.size() != 1) {
    return invalid_model(
        fmt::format("{} must be a graph of one input and one output", quote(attribute.name)),
        node.name);
  }
  OnnxFunction function;
  function.domain = node.domain;
  function.name = attribute.name;
  function.inputs = {graph.inputs[0].name};
  function.outputs = {graph.outputs[0].name};
  NameSet own;
  for (const OnnxNode& inner : graph.nodes)
    for (const OnnxUse& use : inner.outputs) own.insert(use.name);
  for (const OnnxTensor& tensor : graph.initializers) own.insert(tensor.name);
  for (const OnnxSparseTensor& tensor : graph.sparse_initializers) own.insert(tensor.values.name);
  function.body.nodes = std::move(graph.nodes);
  OnnxNode caller;
  caller.name = node.name;
  caller.op_type = node.op_type;
  caller.inputs = {{input}};
  caller.outputs = {{output}};
  FunctionCall call(caller, function, names_);
  call.define(std::move(own));
  PX_RETURN_IF_ERROR(call.check(quota_));
  for (OnnxTensor& tensor : graph.initializers) {
    tensor.name = call.name_of(tensor.name);
    target_->initializers.push_back(std::move(tensor));
  }
  for (OnnxSparseTensor& tensor : graph.sparse_initializers) {
    tensor.values.name = call.name_of(tensor.values.name);
    target_->sparse_initializers.push_back(std::move(tensor));
  }
  for (const OnnxNode& inner : function.body.nodes) {
    PX_ASSIGN(OnnxNode bound, call.bind(inner, quota_));
    PX_RETURN_IF_ERROR(add(std::move(bound), nodes, depth + 1));
  }
  for (OnnxNode& copy : call.passed_on()) nodes.push_back(std::move(copy));
  return {};
}

/// The stages of FlexAttention (preview.cc) with the graphs between them.
Status Inliner::split_attention(const OnnxNode& node, std::vector<OnnxNode>& nodes, int depth) {
  if (node.inputs.size() != 3 || node.outputs.size() != 1)
    return invalid_model("FlexAttention: must have 3 inputs and 1 output", node.name);
  if (depth >= kMaxNesting)
    return unsupported(fmt::format("functions are nested more than {} deep", kMaxNesting));
  const auto make = [&](const char* part) {
    return names_.make(fmt::format("{}/{}", node.name.empty() ? node.op_type : node.name, part));
  };
  const auto add_stage = [&](std::int64_t stage, std::vector<OnnxUse> inputs,
                             std::string_view output) {
    OnnxNode part = node;
    std::erase_if(part.attributes, is_graph);
    OnnxAttribute& number = part.attributes.emplace_back();
    number.name = "stage";
    number.type = OnnxAttributeType::kInt;
    number.i = stage;
    part.inputs = std::move(inputs);
    part.outputs = {{output}};
    nodes.push_back(std::move(part));
  };
  std::string_view last = make("scores");
  add_stage(1, {node.inputs[0], node.inputs[1]}, last);
  for (const std::string_view name : {"score_mod", "prob_mod"}) {
    for (const OnnxAttribute& attribute : node.attributes) {
      if (attribute.name != name || !is_graph(attribute)) continue;
      const std::string_view changed = make("changed");
      PX_RETURN_IF_ERROR(call_graph(attribute, node, last, changed, nodes, depth));
      last = changed;
    }
    if (name == "prob_mod") break;
    const std::string_view weights = make("weights");
    add_stage(2, {{last}}, weights);
    last = weights;
  }
  add_stage(3, {{last}, node.inputs[2]}, node.outputs[0].name);
  return {};
}

}  // namespace

Result<OnnxGraph> inline_functions(const OnnxModel& model, OnnxGraph graph, LoadQuota& quota,
                                   std::deque<std::string>& names) {
  if (!needs_inlining(model)) return graph;
  Inliner inliner(quota, names);
  PX_RETURN_IF_ERROR(inliner.add_functions(model));
  inliner.add_names(graph);
  PX_RETURN_IF_ERROR(inliner.expand(graph, 0));
  return graph;
}

}  // namespace parallax
