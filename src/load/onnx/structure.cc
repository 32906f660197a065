#include "load/onnx/structure.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <tuple>

#include "base/status.h"
#include "load/onnx/names.h"
#include "load/onnx/normalize.h"

namespace parallax {
namespace {

constexpr std::int64_t kOldestOpset = 7, kNewestOpset = 23;
constexpr int kMaxDepth = 64;
constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);

/// Names that one graph defines, with the node that makes each (kNoNode: input or initializer).
/// Ordered maps here and below: a file must not be able to choose colliding hashes.
struct Scope {
  const Scope* parent = nullptr;
  int depth = 0;
  std::map<std::string_view, std::size_t> names;

  const std::size_t* find_here(std::string_view name) const {
    const auto it = names.find(name);
    return it == names.end() ? nullptr : &it->second;
  }
  bool sees(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
      if (scope->names.contains(name)) return true;
    }
    return false;
  }
  Status define(std::string_view name, std::size_t node, const std::string& node_name) {
    if (sees(name)) {
      return invalid_model(fmt::format("{} is defined twice", quote(name)), node_name);
    }
    names.emplace(name, node);
    return {};
  }
};

class StructureCheck {
 public:
  StructureCheck(const OnnxModel& model, std::int64_t opset) : model_(model), opset_(opset) {}

  Result<std::vector<std::size_t>> check(const OnnxGraph& graph, const Scope* parent);
  Status check_operators() const;

 private:
  using Operator = std::pair<std::string_view, std::string_view>;  // domain, type

  Status define_names(const OnnxGraph& graph, Scope& scope);
  Status check_subgraphs(const OnnxNode& node, const Scope& scope);

  const OnnxModel& model_;
  const std::int64_t opset_;
  std::map<Operator, int> unsupported_;
};

Status StructureCheck::define_names(const OnnxGraph& graph, Scope& scope) {
  for (const OnnxValueInfo& input : graph.inputs) {
    PX_RETURN_IF_ERROR(scope.define(input.name, kNoNode, {}));
  }
  Scope initializers;
  for (const OnnxTensor& tensor : graph.initializers) {
    PX_RETURN_IF_ERROR(initializers.define(tensor.name, kNoNode, {}));
    // Up to IR version 3 every initializer is listed among the inputs too.
    if (scope.find_here(tensor.name) != nullptr) continue;
    PX_RETURN_IF_ERROR(scope.define(tensor.name, kNoNode, {}));
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string_view output : graph.nodes[i].outputs) {
      if (output.empty()) continue;
      PX_RETURN_IF_ERROR(scope.define(output, i, onnx_node_name(graph.nodes[i], i)));
    }
  }
  return {};
}

/// For each node the nodes that make its inputs. Errors: names that nothing defines.
Result<std::vector<std::vector<std::size_t>>> producers(const OnnxGraph& graph,
                                                        const Scope& scope) {
  std::vector<std::vector<std::size_t>> result(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string_view input : graph.nodes[i].inputs) {
      if (input.empty()) continue;
      const std::size_t* producer = scope.find_here(input);
      if (producer != nullptr && *producer != kNoNode) result[i].push_back(*producer);
      if (producer == nullptr && !scope.sees(input)) {
        return invalid_model(fmt::format("reads {}, which nothing defines", quote(input)),
                             onnx_node_name(graph.nodes[i], i));
      }
    }
  }
  return result;
}

/// A node on a cycle among those that wait for others for ever.
std::size_t node_on_cycle(const std::vector<std::vector<std::size_t>>& producers,
                          const std::vector<std::size_t>& waiting_for) {
  std::size_t node = 0;
  while (waiting_for[node] == 0) ++node;
  std::vector<bool> seen(producers.size());
  while (!seen[node]) {
    seen[node] = true;
    for (const std::size_t producer : producers[node]) {
      if (waiting_for[producer] != 0) {
        node = producer;
        break;
      }
    }
  }
  return node;
}

/// Of the nodes that are ready the one that comes first in the file is next.
Result<std::vector<std::size_t>> topological_order(
    const OnnxGraph& graph, const std::vector<std::vector<std::size_t>>& producers) {
  const std::size_t count = graph.nodes.size();
  std::vector<std::size_t> waiting_for(count), order;
  std::vector<std::vector<std::size_t>> consumers(count);
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i) {
    waiting_for[i] = producers[i].size();
    for (const std::size_t producer : producers[i]) consumers[producer].push_back(i);
    if (waiting_for[i] == 0) ready.push(i);
  }
  order.reserve(count);
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const std::size_t consumer : consumers[order.back()]) {
      if (--waiting_for[consumer] == 0) ready.push(consumer);
    }
  }
  if (order.size() == count) return order;
  const std::size_t node = node_on_cycle(producers, waiting_for);
  return invalid_model("the node depends on its own output",
                       onnx_node_name(graph.nodes[node], node));
}

Status StructureCheck::check_subgraphs(const OnnxNode& node, const Scope& scope) {
  for (const OnnxAttribute& attribute : node.attributes) {
    for (const std::string_view bytes : attribute.graphs) {
      PX_ASSIGN(const OnnxGraph subgraph, parse_onnx_graph(bytes));
      PX_RETURN_IF_ERROR(check(subgraph, &scope));
    }
  }
  return {};
}

Result<std::vector<std::size_t>> StructureCheck::check(const OnnxGraph& graph,
                                                       const Scope* parent) {
  Scope scope{.parent = parent, .depth = parent == nullptr ? 0 : parent->depth + 1, .names = {}};
  if (scope.depth > kMaxDepth) {
    return invalid_model(fmt::format("subgraphs are nested more than {} deep", kMaxDepth));
  }
  PX_RETURN_IF_ERROR(define_names(graph, scope));
  PX_ASSIGN(const auto made_by, producers(graph, scope));
  for (const OnnxValueInfo& output : graph.outputs) {
    if (!scope.sees(output.name)) {
      return invalid_model(fmt::format("output {} is made by nothing", quote(output.name)));
    }
  }
  for (const OnnxNode& node : graph.nodes) {
    const std::string_view domain = node.domain == "ai.onnx" ? "" : node.domain;
    if (!domain.empty() || !is_supported_onnx_operator(node.op_type, opset_)) {
      ++unsupported_[{domain, node.op_type}];
    }
    PX_RETURN_IF_ERROR(check_subgraphs(node, scope));
  }
  return topological_order(graph, made_by);
}

Status StructureCheck::check_operators() const {
  if (unsupported_.empty()) return {};
  std::string list;
  for (const auto& [op, count] : unsupported_) {
    const auto& [domain, type] = op;
    std::string version = "not imported";
    for (const OnnxOpset& opset : model_.opsets) {
      if (opset.domain == domain) version = fmt::format("opset {}", opset.version);
    }
    fmt::format_to(std::back_inserter(list), "{}{} ({} {}) x{}", list.empty() ? "" : ", ",
                   type.size() > 120 ? quote(type) : std::string(type),
                   domain.empty() ? "ai.onnx" : domain, version, count);
  }
  return unsupported("unsupported operators: " + list);
}

}  // namespace

Result<std::int64_t> onnx_opset(const OnnxModel& model) {
  std::optional<std::int64_t> version;
  for (const OnnxOpset& opset : model.opsets) {
    if (!opset.domain.empty()) continue;
    if (version && *version != opset.version) {
      return invalid_model(fmt::format("the model imports the operator sets {} and {} of ai.onnx",
                                       *version, opset.version));
    }
    version = opset.version;
  }
  if (!version) return invalid_model("the model imports no operator set of ai.onnx");
  if (*version < kOldestOpset || *version > kNewestOpset) {
    return unsupported(fmt::format("operator set {} of ai.onnx is not supported, {} to {} are",
                                   *version, kOldestOpset, kNewestOpset));
  }
  return *version;
}

Result<std::vector<std::size_t>> check_structure(const OnnxModel& model, const OnnxGraph& graph) {
  PX_ASSIGN(const std::int64_t opset, onnx_opset(model));
  StructureCheck check(model, opset);
  PX_ASSIGN(auto order, check.check(graph, nullptr));
  PX_RETURN_IF_ERROR(check.check_operators());
  if (graph.outputs.empty()) return invalid_model("the graph has no outputs");
  return order;
}

}  // namespace parallax
