#include "load/onnx/structure.h"

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

#include "base/status.h"
#include "load/names.h"
#include "load/onnx/normalize/batched_scan.h"
#include "load/onnx/normalize/normalize.h"

namespace parallax {
namespace {

constexpr std::int64_t kOldestOpset = 1, kNewestOpset = 28;

/// The names of one graph and of those around it.
struct Scope {
  const Scope* parent;
  int depth;
  const Definitions& names;

  bool sees(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
      if (scope->names.contains(name)) return true;
    }
    return false;
  }
};

tl::unexpected<Error> defined_twice(std::string_view name, std::string_view node = {}) {
  return invalid_model(fmt::format("{} is defined twice", quote(name)), node);
}

/// Domain, type, version.
using Operator = std::tuple<std::string_view, std::string_view, std::optional<std::int64_t>>;

/// Returns "Relu (ai.onnx opset 17)".
std::string operator_text(const Operator& op) {
  const auto& [domain, type, opset] = op;
  return fmt::format("{} ({} {})", type.size() > 120 ? quote(type) : std::string(type),
                     domain.empty() ? "ai.onnx" : shorten(domain),
                     opset ? fmt::format("opset {}", *opset) : "not imported");
}

class StructureCheck {
 public:
  StructureCheck(const OnnxModel& model, int max_nesting, std::vector<UnsupportedNode>* noted)
      : model_(model), max_nesting_(max_nesting), noted_(noted) {}

  Result<CheckedGraph> check(OnnxGraph graph, const Scope* parent);
  Status check_operators() const;

 private:
  Status check_operator(CheckedGraph& checked, std::size_t index, const Scope& scope);
  Status find_rule(OnnxNode& node, const Scope& scope, std::deque<std::string>& made_names);
  Result<std::vector<CheckedBody>> check_bodies(const OnnxNode& node, const Scope& scope);

  const OnnxModel& model_;
  const int max_nesting_;
  std::vector<UnsupportedNode>* const noted_;  ///< null: unsupported_ has what is missing
  std::map<Operator, int> unsupported_;
};

/// Marks a name as that of an initializer. Returns whether it is the first of that name. Up to IR
/// version 3 every initializer is listed among the inputs too.
bool initialize(Definitions& names, std::string_view name) {
  return !std::exchange(names.add(name).first->initialized, true);
}

Result<Definitions> define_names(OnnxGraph& graph) {
  Definitions names;
  names.reserve(graph.inputs.size() + graph.initializers.size() + graph.nodes.size());
  for (const OnnxValueInfo& input : graph.inputs) {
    if (!names.add(input.name).second) return defined_twice(input.name);
  }
  for (const OnnxTensor& tensor : graph.initializers)
    if (!initialize(names, tensor.name)) return defined_twice(tensor.name);
  for (const OnnxSparseTensor& tensor : graph.sparse_initializers)
    if (!initialize(names, tensor.values.name)) return defined_twice(tensor.values.name);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (OnnxUse& output : graph.nodes[i].outputs) {
      if (output.name.empty()) continue;
      output.index = names.size();
      if (!names.add(output.name, {.node = i}).second)
        return defined_twice(output.name, onnx_node_name(graph.nodes[i], i));
    }
  }
  return names;
}

/// Returns the definition of a name that is read; null if there is no such definition. A definition
/// in the graphs around becomes a capture.
const Definition* read(CheckedGraph& checked, const Scope& scope, std::string_view name) {
  Definition* found = checked.names.find(name);
  if (found == nullptr) {
    if (scope.parent == nullptr || !scope.parent->sees(name)) return nullptr;
    found = checked.names.add(name, {.captured = true}).first;
    checked.captures.push_back(name);
  }
  found->read = true;
  return found;
}

/// Looks up what nodes, their bodies and the caller read. Returns whether no node reads what a
/// later one makes. Errors: names that nothing defines.
Result<bool> resolve_reads(CheckedGraph& checked, const Scope& scope) {
  bool sorted = true;
  const auto before = [](const Definition& definition, std::size_t node) {
    return definition.node == Definition::kNoNode || definition.node < node;
  };
  for (std::size_t i = 0; i < checked.graph.nodes.size(); ++i) {
    for (OnnxUse& input : checked.graph.nodes[i].inputs) {
      if (input.name.empty()) continue;
      const Definition* definition = read(checked, scope, input.name);
      if (definition == nullptr) {
        return invalid_model(
            fmt::format("reads {}, which no node, input or initializer defines", quote(input.name)),
            onnx_node_name(checked.graph.nodes[i], i));
      }
      input.index = definition->index;
      sorted = sorted && before(*definition, i);
    }
    const auto bodies = checked.bodies.find(i);
    if (bodies == checked.bodies.end()) continue;
    for (const CheckedBody& body : bodies->second) {
      for (const std::string_view name : body.checked.captures)
        sorted = before(*read(checked, scope, name), i) && sorted;
    }
  }
  for (const OnnxValueInfo& output : checked.graph.outputs) {
    if (read(checked, scope, output.name) == nullptr)
      return invalid_model(
          fmt::format("no node, input or initializer defines output {}", quote(output.name)));
  }
  return sorted;
}

/// For each node those that make what it and its bodies read.
using Producers = std::vector<std::vector<std::size_t>>;

Producers producers(const CheckedGraph& checked) {
  Producers result(checked.graph.nodes.size());
  const auto add_producer = [&](std::size_t node, const Definition& definition) {
    const std::size_t producer = definition.node;
    if (producer != Definition::kNoNode) result[node].push_back(producer);
  };
  for (std::size_t i = 0; i < result.size(); ++i) {
    for (const OnnxUse& input : checked.graph.nodes[i].inputs)
      if (!input.name.empty()) add_producer(i, checked.names[input.index]);
    const auto bodies = checked.bodies.find(i);
    if (bodies == checked.bodies.end()) continue;
    for (const CheckedBody& body : bodies->second)
      for (const std::string_view name : body.checked.captures)
        add_producer(i, checked.names.at(name));
  }
  return result;
}

/// A node on a cycle among those that wait for others for ever.
std::size_t node_on_cycle(const Producers& producers, const std::vector<std::size_t>& waiting_for) {
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

/// Sorts nodes; among those that are ready the first of the file comes next.
Result<std::vector<std::size_t>> topological_order(const OnnxGraph& graph,
                                                   const Producers& producers) {
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

Result<std::vector<CheckedBody>> StructureCheck::check_bodies(const OnnxNode& node,
                                                              const Scope& scope) {
  std::vector<CheckedBody> bodies;
  for (const OnnxAttribute& attribute : node.attributes) {
    for (const auto& inlined : attribute.inlined) {
      PX_ASSIGN(CheckedGraph checked, check(*inlined, &scope));
      bodies.push_back({attribute.name, std::move(checked)});
    }
    if (!attribute.inlined.empty()) continue;
    for (const std::string_view bytes : attribute.graphs) {
      PX_ASSIGN(OnnxGraph body, parse_onnx_graph(bytes));
      PX_ASSIGN(CheckedGraph checked, check(std::move(body), &scope));
      bodies.push_back({attribute.name, std::move(checked)});
    }
  }
  return bodies;
}

/// Gives the node its operator set. Sets that a model or function imports and no node needs are not
/// looked at. Errors: kUnsupported with the node's operator if that cannot be loaded.
Status StructureCheck::find_rule(OnnxNode& node, const Scope& scope,
                                 std::deque<std::string>& made_names) {
  if (node.opset && is_batched_scan(node, *node.opset)) {
    const auto taken = [&](std::string_view name) { return scope.sees(name); };
    return split_batched_scan(node, taken, made_names);
  }
  if (node.opset && is_supported_operator(node.domain, node.op_type, *node.opset)) return {};
  const Operator op{node.domain, node.op_type, node.opset};
  if (noted_ != nullptr) return unsupported("unsupported operator " + operator_text(op));
  ++unsupported_[op];
  return {};
}

/// Finds the rule of a node, and notes its absence.
Status StructureCheck::check_operator(CheckedGraph& checked, std::size_t index,
                                      const Scope& scope) {
  OnnxNode& node = checked.graph.nodes[index];
  if (!node.opset) node.opset = imported_opset(model_, node.domain);
  if (node.opset && node.domain.empty()) PX_RETURN_IF_ERROR(check_onnx_opset(*node.opset));
  Status status = find_rule(node, scope, checked.made_names);
  if (status || noted_ == nullptr || status.error().code != ErrorCode::kUnsupported) return status;
  noted_->push_back(note_of(node, index, status.error().message));
  checked.unsupported.push_back(index);
  return {};
}

Result<CheckedGraph> StructureCheck::check(OnnxGraph file, const Scope* parent) {
  CheckedGraph checked{.graph = std::move(file)};
  const OnnxGraph& graph = checked.graph;
  const Scope scope{parent, parent == nullptr ? 0 : parent->depth + 1, checked.names};
  if (scope.depth > max_nesting_) {
    const std::string remedy =
        max_nesting_ < kMaxNesting
            ? fmt::format(" (LoadOptions::max_nesting, --max-nesting: at most {})", kMaxNesting)
            : "";
    return unsupported(
        fmt::format("subgraphs are nested more than {} deep{}", max_nesting_, remedy));
  }
  PX_ASSIGN(checked.names, define_names(checked.graph));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    PX_RETURN_IF_ERROR(check_operator(checked, i, scope));
    PX_ASSIGN(auto bodies, check_bodies(graph.nodes[i], scope));
    if (!bodies.empty()) checked.bodies.emplace(i, std::move(bodies));
  }
  PX_ASSIGN(const bool sorted, resolve_reads(checked, scope));
  if (sorted) {
    checked.order.resize(graph.nodes.size());
    std::iota(checked.order.begin(), checked.order.end(), std::size_t{0});
  } else {
    PX_ASSIGN(checked.order, topological_order(graph, producers(checked)));
  }
  return checked;
}

Status StructureCheck::check_operators() const {
  if (unsupported_.empty()) return {};
  std::string list;
  for (const auto& [op, count] : unsupported_) {
    fmt::format_to(std::back_inserter(list), "{}{} x{}", list.empty() ? "" : ", ",
                   operator_text(op), count);
  }
  return unsupported("unsupported operators: " + list);
}

}  // namespace

std::optional<std::int64_t> imported_opset(const OnnxModel& model, std::string_view domain) {
  for (const OnnxOpset& opset : model.opsets)
    if (opset.domain == domain) return opset.version;
  return std::nullopt;
}

Status check_onnx_opset(std::int64_t version) {
  if (version >= kOldestOpset && version <= kNewestOpset) return {};
  return unsupported(fmt::format("operator set {} of ai.onnx is not supported, {} to {} are",
                                 version, kOldestOpset, kNewestOpset));
}

Status check_opsets(const OnnxModel& model) {
  if (model.opsets.empty()) return invalid_model("the model imports no operator set");
  const auto version = imported_opset(model, "");
  if (!version) return {};
  for (const OnnxOpset& opset : model.opsets) {
    if (!opset.domain.empty() || opset.version == *version) continue;
    return invalid_model(fmt::format("the model imports the operator sets {} and {} of ai.onnx",
                                     *version, opset.version));
  }
  return {};
}

UnsupportedNode note_of(const OnnxNode& node, std::size_t index, std::string_view reason) {
  // Messages may quote attributes of any length, and a function repeats them for each call.
  constexpr std::size_t kLongest = 500;
  const Error line = load_error(ErrorCode::kUnsupported, shorten(reason, kLongest));
  return {onnx_node_name(node, index), shorten(node.op_type), shorten(node.domain),
          line.to_string()};
}

Result<CheckedGraph> check_structure(const OnnxModel& model, OnnxGraph graph, int max_nesting,
                                     std::vector<UnsupportedNode>* noted) {
  PX_RETURN_IF_ERROR(check_opsets(model));
  StructureCheck check(model, max_nesting, noted);
  PX_ASSIGN(CheckedGraph checked, check.check(std::move(graph), nullptr));
  PX_RETURN_IF_ERROR(check.check_operators());
  if (checked.graph.outputs.empty()) return invalid_model("the graph has no outputs");
  return checked;
}

}  // namespace parallax
