#include "load/onnx/function_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status.h"
#include "ir/graph.h"
#include "load/names.h"

namespace parallax {

std::string describe_function(const OnnxFunction& function) {
  std::string name = function.domain.empty() ? std::string(function.name)
                                             : fmt::format("{}.{}", function.domain, function.name);
  if (!function.overload.empty()) name += fmt::format(":{}", function.overload);
  return "function " + quote(name);
}

std::string_view MadeNames::keep(std::string name) {
  bytes_ += name.size() + sizeof(std::string);
  return names_.emplace_back(std::move(name));
}

/// Each number is tried once, whatever names the file has.
std::string_view MadeNames::make(std::string name) {
  std::string candidate = name;
  while (taken_.contains(candidate)) candidate = fmt::format("{}_{}", name, ++number_);
  const std::string_view made = keep(std::move(candidate));
  taken_.insert(made);
  return made;
}

FunctionCall::FunctionCall(const OnnxNode& node, const OnnxFunction& function, MadeNames& names)
    : node_(node),
      function_(function),
      names_(names),
      label_(node.name.empty() ? node.op_type : node.name) {}

Status FunctionCall::check(LoadQuota& quota) {
  if (node_.inputs.size() > function_.inputs.size() ||
      node_.outputs.size() > function_.outputs.size()) {
    return invalid_model(
        fmt::format("{} has {} inputs and {} outputs, but is called with {} and {}",
                    describe_function(function_), function_.inputs.size(), function_.outputs.size(),
                    node_.inputs.size(), node_.outputs.size()),
        label_);
  }
  for (std::size_t i = 0; i < function_.inputs.size(); ++i) {
    const std::string_view actual = i < node_.inputs.size() ? node_.inputs[i].name : "";
    if (!arguments_.emplace(function_.inputs[i], actual).second) {
      return invalid_model(fmt::format("{} has two inputs {}", describe_function(function_),
                                       quote(function_.inputs[i])),
                           label_);
    }
  }
  for (std::size_t i = 0; i < node_.outputs.size(); ++i) {
    const std::string_view actual = node_.outputs[i].name;
    if (actual.empty()) continue;
    if (!arguments_.emplace(function_.outputs[i], actual).second)
      copies_.emplace_back(function_.outputs[i], actual);
  }
  PX_RETURN_IF_ERROR(
      take_work(quota, std::ssize(node_.attributes) *
                           (std::ssize(function_.attributes) + std::ssize(function_.defaults))));
  for (const OnnxAttribute& attribute : node_.attributes) {
    const auto named = [&](const OnnxAttribute& other) { return other.name == attribute.name; };
    if (std::ranges::find(function_.attributes, attribute.name) == function_.attributes.end() &&
        std::ranges::none_of(function_.defaults, named)) {
      return invalid_model(fmt::format("{} has no attribute {}", describe_function(function_),
                                       quote(attribute.name)),
                           label_);
    }
  }
  return {};
}

std::string_view FunctionCall::rename(std::string_view name, const Hidden* hidden) {
  if (name.empty()) return name;
  if (hidden == nullptr || !hidden->has(name)) {
    const auto argument = arguments_.find(name);
    if (argument != arguments_.end()) return argument->second;
    if (own_ && !own_->contains(name)) return name;
  }
  const auto [made, added] = made_.try_emplace(name);
  if (added) made->second = names_.make(fmt::format("{}/{}", label_, name));
  return made->second;
}

/// Returns the caller's attribute that `attribute` refers to; null if the caller leaves it out.
Result<const OnnxAttribute*> FunctionCall::referred(const OnnxAttribute& attribute) const {
  const auto named = [&](const OnnxAttribute& other) { return other.name == attribute.reference; };
  const OnnxAttribute* found = nullptr;
  if (const auto given = std::ranges::find_if(node_.attributes, named);
      given != node_.attributes.end()) {
    found = &*given;
  } else if (const auto preset = std::ranges::find_if(function_.defaults, named);
             preset != function_.defaults.end()) {
    found = &*preset;
  }
  if (found == nullptr) {
    if (std::ranges::find(function_.attributes, attribute.reference) != function_.attributes.end())
      return nullptr;
    return invalid_model(fmt::format("{} has no attribute {}", describe_function(function_),
                                     quote(attribute.reference)),
                         label_);
  }
  if (found->type == attribute.type) return found;
  return invalid_model(fmt::format("{}: attribute {} has the wrong type",
                                   describe_function(function_), quote(attribute.reference)),
                       label_);
}

Result<OnnxNode> FunctionCall::bind(const OnnxNode& inner, LoadQuota& quota) {
  return bind(inner, nullptr, quota);
}

Result<OnnxNode> FunctionCall::bind(const OnnxNode& inner, const Hidden* hidden, LoadQuota& quota) {
  OnnxNode bound = inner;
  bound.name =
      names_.keep(fmt::format("{}/{}", label_, inner.name.empty() ? inner.op_type : inner.name));
  for (OnnxUse& input : bound.inputs) input.name = rename(input.name, hidden);
  for (OnnxUse& output : bound.outputs) output.name = rename(output.name, hidden);
  for (const OnnxOpset& opset : function_.opsets)
    if (opset.domain == inner.domain) bound.opset = opset.version;
  PX_RETURN_IF_ERROR(bind_attributes(bound, hidden, quota));
  return bound;
}

Status FunctionCall::take_work(LoadQuota& quota, std::int64_t work) const {
  if (quota.need_work(work)) return {};
  return unsupported("loading the functions of the model takes too much work", label_);
}

Status FunctionCall::bind_attributes(OnnxNode& bound, const Hidden* hidden, LoadQuota& quota) {
  const std::int64_t names = std::ssize(node_.attributes) + std::ssize(function_.attributes) +
                             std::ssize(function_.defaults);
  PX_RETURN_IF_ERROR(take_work(quota, std::ssize(bound.attributes) * names));
  std::vector<OnnxAttribute> attributes;
  for (OnnxAttribute& attribute : bound.attributes) {
    if (!attribute.reference.empty()) {
      PX_ASSIGN(const OnnxAttribute* const value, referred(attribute));
      if (value == nullptr) continue;
      const std::string_view name = attribute.name;
      attributes.push_back(*value);
      attributes.back().name = name;
      continue;
    }
    for (const std::string_view bytes : attribute.graphs) {
      PX_RETURN_IF_ERROR(take_work(quota, std::ssize(bytes)));
      PX_ASSIGN(OnnxGraph graph, parse_onnx_graph(bytes));
      PX_ASSIGN(OnnxGraph renamed, bind_graph(std::move(graph), hidden, quota));
      attribute.inlined.push_back(std::make_shared<OnnxGraph>(std::move(renamed)));
    }
    attributes.push_back(std::move(attribute));
  }
  bound.attributes = std::move(attributes);
  return {};
}

/// A graph inside the body of the function.
Result<OnnxGraph> FunctionCall::bind_graph(OnnxGraph graph, const Hidden* around,
                                           LoadQuota& quota) {
  Hidden hidden{around, {}};
  if (depth_of(&hidden) > kMaxNesting)
    return unsupported(fmt::format("subgraphs are nested more than {} deep", kMaxNesting), label_);
  for (const OnnxValueInfo& input : graph.inputs) hidden.names.insert(input.name);
  for (const OnnxTensor& tensor : graph.initializers) hidden.names.insert(tensor.name);
  for (const OnnxSparseTensor& tensor : graph.sparse_initializers)
    hidden.names.insert(tensor.values.name);
  for (const OnnxNode& node : graph.nodes)
    for (const OnnxUse& output : node.outputs) hidden.names.insert(output.name);
  for (OnnxValueInfo& input : graph.inputs) input.name = rename(input.name, &hidden);
  for (OnnxValueInfo& output : graph.outputs) output.name = rename(output.name, &hidden);
  for (OnnxTensor& tensor : graph.initializers) tensor.name = rename(tensor.name, &hidden);
  for (OnnxSparseTensor& tensor : graph.sparse_initializers)
    tensor.values.name = rename(tensor.values.name, &hidden);
  for (OnnxNode& node : graph.nodes) {
    PX_ASSIGN(node, bind(node, &hidden, quota));
  }
  return graph;
}

int FunctionCall::depth_of(const Hidden* hidden) const {
  int depth = 0;
  for (; hidden != nullptr; hidden = hidden->around) ++depth;
  return depth;
}

std::vector<OnnxNode> FunctionCall::passed_on() {
  std::vector<OnnxNode> nodes;
  constexpr std::int64_t kAnyOpset = 13;
  for (const auto& [from, to] : copies_) {
    OnnxNode copy;
    copy.name = label_;
    copy.op_type = "Identity";
    copy.opset = kAnyOpset;
    copy.inputs = {{rename(from, nullptr)}};
    copy.outputs = {{to}};
    nodes.push_back(std::move(copy));
  }
  return nodes;
}

}  // namespace parallax
