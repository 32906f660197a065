// Types of the inputs of bodies, and which dimensions of carried values change.
#include <fmt/core.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/common.h"
#include "ops/control_flow.h"
#include "ops/infer.h"

namespace parallax {
namespace {

/// Tries with the dimensions of the first trip before all of a carried value count as changing.
constexpr int kTries = 3;

/// The symbols of a body, found by what they stand for. The tables are built when first asked for.
class BodySymbols {
 public:
  BodySymbols(const Graph& around, Graph& body) : around_(around), body_(body) {}

  /// `list`, in the symbols of the graph around, in those of the body.
  std::vector<Expr> inside(const std::vector<Expr>& list) {
    std::vector<Expr> result;
    result.reserve(list.size());
    for (const Expr& e : list)
      result.push_back(substitute(e, [this](SymbolId id) { return Expr::symbol(at(id)); }));
    return result;
  }

  Expr changing_dimension(const Value& input, std::size_t axis) {
    look();
    return Expr::symbol(add({fmt::format("{}.{}", input.name, axis), SymbolKind::kData, {}}));
  }

 private:
  SymbolId at(SymbolId outer) {
    look();
    const auto known = inner_.find(outer.value);
    if (known != inner_.end()) return known->second;
    const Symbol& symbol = around_.symbols[outer];
    return inner_[outer.value] = add({symbol.name, symbol.kind, outer});
  }

  void look() {
    for (; seen_ < static_cast<std::int32_t>(body_.symbols.size()); ++seen_) {
      const Symbol& symbol = body_.symbols[SymbolId{seen_}];
      names_.insert(symbol.name);
      if (symbol.outer.valid()) inner_.emplace(symbol.outer.value, SymbolId{seen_});
    }
  }

  SymbolId add(Symbol symbol) {
    while (!names_.insert(symbol.name).second) symbol.name += '\'';
    return body_.symbols.push_back(std::move(symbol));
  }

  const Graph& around_;
  Graph& body_;
  std::int32_t seen_ = 0;  ///< symbols of the body that the tables have
  std::unordered_map<std::int32_t, SymbolId> inner_;
  std::unordered_set<std::string> names_;
};

class Seeder {
 public:
  Seeder(const Graph& graph, const Node& node, Graph& body, LoadQuota& quota)
      : graph_(graph), node_(node), body_(body), quota_(quota), symbols_(graph, body) {}

  Status run() {
    // The cost of copying the body and its symbols.
    const auto size = std::ssize(body_.values) + std::ssize(body_.symbols);
    const std::int64_t terms = expr_terms();
    PX_RETURN_IF_ERROR(need_work(graph_, node_, size * LoadQuota::kWorkPerInput, quota_));
    PX_RETURN_IF_ERROR(seed());
    return need_work(graph_, node_, (expr_terms() - terms) * LoadQuota::kWorkPerTerm, quota_);
  }

 private:
  Status seed() {
    if (node_.op != OpKind::kIf) {
      PX_ASSIGN(const LoopParts parts, loop_parts(node_));
      if (parts.first_input == 2) {
        seed_counter(0, DType::kI64);
        seed_counter(1, DType::kBool);
      }
      for (std::size_t i = 0; i < parts.carried; ++i)
        PX_RETURN_IF_ERROR(seed_carried(parts.first_input + i));
      for (std::size_t i = 0; i < parts.scan_inputs; ++i) PX_RETURN_IF_ERROR(seed_slice(parts, i));
    }
    for (std::size_t i = 1; i <= node_.captures; ++i) {
      const Value& value = outer(node_.inputs.size() - i);
      Value& input = inner(body_.inputs.size() - i);
      InferOutput type{value.dtype, symbols_.inside(value.shape), {}, value.container};
      // Asked before the elements are made: very many bodies may capture them.
      const std::int64_t room = quota_.bytes_left() + content_bytes(input.content);
      if (value.content && content_bytes(value.content) > room) {
        quota_.leave_out();
      } else if (value.content) {
        type.content = symbols_.inside(*value.content);
      }
      PX_RETURN_IF_ERROR(set_type(graph_, node_, input, std::move(type), quota_));
    }
    return {};
  }

  const Value& outer(std::size_t i) const { return graph_.values[node_.inputs[i]]; }
  Value& inner(std::size_t i) { return body_.values[body_.inputs[i]]; }

  /// Models declare the iteration and the condition as scalars or as one element of any rank.
  void seed_counter(std::size_t i, DType dtype) {
    Value& input = inner(i);
    input.dtype = dtype;
    input.shape.assign(input.shape.size(), Expr(1));
  }

  Status seed_carried(std::size_t i) {
    const Value& value = outer(i);
    Shape shape = symbols_.inside(value.shape);
    Value& input = inner(i);
    if (input.shape.size() == shape.size()) {
      for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (changes_in_body(body_, input.shape[axis])) shape[axis] = input.shape[axis];
    }
    // The type that the body has given it so far also holds for later trips.
    ContainerType container = join(value.container, input.container);
    if (container == nullptr) container = value.container;
    return set_type(graph_, node_, input, {value.dtype, std::move(shape), {}, std::move(container)},
                    quota_);
  }

  Status seed_slice(const LoopParts& parts, std::size_t i) {
    const Value& value = outer(parts.carried + i);
    if (is_object(value))
      return refuse(node_, fmt::format("scan input {} is not a tensor of numbers", i),
                    ErrorCode::kUnsupported);
    PX_ASSIGN(const ScanAxis axis,
              scan_input_axis(node_, i, parts.scan_inputs, static_cast<int>(value.shape.size())));
    Shape shape = symbols_.inside(value.shape);
    shape.erase(shape.begin() + axis.axis);
    return set_type(graph_, node_, inner(parts.carried + i), {value.dtype, std::move(shape), {}},
                    quota_);
  }

  const Graph& graph_;
  const Node& node_;
  Graph& body_;
  LoadQuota& quota_;
  BodySymbols symbols_;
};

/// Lets a carried container be all that the body makes of it. Whether that is more than before.
Result<bool> widen_container(const Graph& graph, const Node& node, Graph& body, ValueId in,
                             const Value& out, LoadQuota& quota) {
  Value& value = body.values[in];
  if (value.container == nullptr && out.container == nullptr) return false;
  ContainerType both = join(value.container, out.container);
  if (both == nullptr)
    return refuse(node, fmt::format("'{}' comes back as another type", value.name));
  if (same(both, value.container)) return false;
  PX_RETURN_IF_ERROR(set_type(graph, node, value, {value.dtype, {}, {}, std::move(both)}, quota));
  return true;
}

/// Makes dimensions that the body changes symbols of its own; false if none is left.
Result<bool> find_changes(const Graph& graph, const Node& node, const LoopParts& parts, Graph& body,
                          LoadQuota& quota, bool all) {
  BodySymbols symbols(graph, body);
  bool changed = false;
  for (std::size_t i = 0; i < parts.carried; ++i) {
    const ValueId in = body.inputs[parts.first_input + i];
    const Value& out = body.values[body.outputs[parts.first_output + i]];
    if (out.dtype != body.values[in].dtype) {
      return refuse(node,
                    fmt::format("'{}' is carried as {} and comes back as {}", body.values[in].name,
                                to_string(body.values[in].dtype), to_string(out.dtype)));
    }
    PX_ASSIGN(const bool wider, widen_container(graph, node, body, in, out, quota));
    changed = changed || wider;
    if (body.values[in].container != nullptr) continue;
    if (out.shape.size() != body.values[in].shape.size()) {
      return refuse(
          node,
          fmt::format("'{}' is carried with {} dimensions and comes back with {}",
                      body.values[in].name, body.values[in].shape.size(), out.shape.size()),
          ErrorCode::kUnsupported);
    }
    const Shape after = out.shape;
    InferOutput type{body.values[in].dtype, body.values[in].shape, {}};
    for (std::size_t axis = 0; axis < after.size(); ++axis) {
      const Expr before = type.shape[axis];
      if (changes_in_body(body, before) || (!all && before == after[axis])) continue;
      type.shape[axis] = symbols.changing_dimension(body.values[in], axis);
      changed = true;
    }
    PX_RETURN_IF_ERROR(set_type(graph, node, body.values[in], std::move(type), quota));
  }
  return changed;
}

Status infer_loop_body(const Graph& graph, const Node& node, Graph& body, LoadQuota& quota) {
  PX_ASSIGN(const LoopParts parts, loop_parts(node));
  for (int tries = 1;; ++tries) {
    PX_RETURN_IF_ERROR(infer_graph(body, quota));
    PX_ASSIGN(const bool changed, find_changes(graph, node, parts, body, quota, tries == kTries));
    if (!changed) break;
    PX_RETURN_IF_ERROR(seed_body(graph, node, body, quota));
  }
  if (parts.first_output == 0) return {};
  const Value& condition = body.values[body.outputs[0]];
  if (condition.dtype != DType::kBool) return refuse(node, "the body's condition is not bool");
  return {};
}

}  // namespace

Status seed_body(const Graph& graph, const Node& node, Graph& body, LoadQuota& quota) {
  return Seeder(graph, node, body, quota).run();
}

Status infer_bodies(Graph& graph, NodeId id, LoadQuota& quota) {
  if (graph.nodes[id].op == OpKind::kIf) PX_RETURN_IF_ERROR(check_branches(graph.nodes[id]));
  for (std::size_t i = 0; i < graph.nodes[id].bodies.size(); ++i) {
    Node& node = graph.nodes[id];
    if (i > 0 && node.bodies[i] == node.bodies[0]) continue;
    auto body = std::make_shared<Graph>(*node.bodies[i]);
    PX_RETURN_IF_ERROR(seed_body(graph, node, *body, quota));
    PX_RETURN_IF_ERROR(node.op == OpKind::kIf ? infer_graph(*body, quota)
                                              : infer_loop_body(graph, node, *body, quota));
    const auto before = std::exchange(node.bodies[i], std::move(body));
    for (std::size_t k = i + 1; k < node.bodies.size(); ++k)
      if (node.bodies[k] == before) node.bodies[k] = node.bodies[i];
  }
  return {};
}

}  // namespace parallax
