#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/name_map.h"
#include "base/status.h"
#include "ir/dtype_sets.h"
#include "ir/expr/expr_polynomial.h"
#include "ir/graph.h"
#include "ir/strings.h"
#include "ir/verify.h"

namespace parallax {
namespace {

/// Returns the first item that has the name of one before it; null if names differ. One block of
/// memory: the nodes of a std::unordered_set took half the time of a verification.
template <class I, class T>
const T* with_known_name(const IdVector<I, T>& items) {
  struct Slot {
    std::uint32_t hash = 0;
    I id;  ///< invalid: the slot is free
  };
  std::vector<Slot> slots(std::bit_ceil(items.size() + items.size() / 3 + 1));
  for (const I id : items.ids()) {
    const std::uint64_t hash = name_hash(items[id].name);
    const auto key = static_cast<std::uint32_t>(hash);
    std::size_t i = hash & (slots.size() - 1);
    for (; slots[i].id.valid(); i = (i + 1) & (slots.size() - 1))
      if (slots[i].hash == key && items[slots[i].id].name == items[id].name) return &items[id];
    slots[i] = {key, id};
  }
  return nullptr;
}

/// One pass over each table; every check is O(1) or O(size of what it looks at).
class Verifier {
 public:
  Verifier(const Graph& graph, Stage stage, const Graph* around, int depth)
      : graph_(graph), stage_(stage), around_(around), depth_(depth) {}

  /// All but names.
  Status structure() const {
    PX_RETURN_IF_ERROR(check_symbols());
    PX_RETURN_IF_ERROR(check_values());
    PX_RETURN_IF_ERROR(check_nodes());
    return check_ends();
  }

  /// REQUIRES: structure() found nothing.
  Status names() const {
    if (const Symbol* symbol = with_known_name(graph_.symbols))
      return error("", "symbol '{}' exists twice", symbol->name);
    if (const Value* value = with_known_name(graph_.values))
      return error("", "two values are named '{}'", value->name);
    if (const Node* node = with_known_name(graph_.nodes))
      return error(node->name, "two nodes have this name");
    for (const Node& node : graph_.nodes) {
      for (std::size_t i = 0; i < node.bodies.size(); ++i) {
        if (i > 0 && node.bodies[i] == node.bodies[0]) continue;
        PX_RETURN_IF_ERROR(Verifier(*node.bodies[i], stage_, &graph_, depth_ + 1).names());
      }
    }
    return {};
  }

 private:
  template <class... Args>
  tl::unexpected<Error> error(std::string_view node, fmt::format_string<Args...> format,
                              Args&&... args) const {
    return tl::unexpected(Error{stage_, ErrorCode::kInternal, std::string(node),
                                fmt::format(format, std::forward<Args>(args)...)});
  }

  Status check_symbols() const {
    for (const Symbol& symbol : graph_.symbols) PX_RETURN_IF_ERROR(check_outer(symbol));
    return {};
  }

  Status check_outer(const Symbol& symbol) const {
    if (!symbol.outer.valid()) {
      if (around_ == nullptr || symbol.kind == SymbolKind::kData) return {};
      return error("", "symbol '{}' of a body stands for no symbol outside", symbol.name);
    }
    if (around_ == nullptr || !around_->symbols.contains(symbol.outer) ||
        around_->symbols[symbol.outer].kind != symbol.kind) {
      return error("", "symbol '{}' stands for one that does not exist outside", symbol.name);
    }
    return {};
  }

  /// The body itself, and its captures against the node; the operator's inference checks the rest.
  Status check_bodies(const Node& node) const {
    if (node.captures > node.inputs.size()) return error(node.name, "more captures than inputs");
    if (node.bodies.empty() && node.captures > 0) return error(node.name, "captures without body");
    if (!node.bodies.empty() && depth_ >= kMaxNesting) return error(node.name, "nested too deeply");
    for (const auto& body : node.bodies) {
      if (body == nullptr) return error(node.name, "has no body");
      // Both branches of an If may be one graph, at every depth.
      if (&body != &node.bodies[0] && body == node.bodies[0]) continue;
      PX_RETURN_IF_ERROR(Verifier(*body, stage_, &graph_, depth_ + 1).structure());
      if (body->inputs.size() < node.captures) return error(node.name, "captures more than it has");
      for (std::size_t i = 1; i <= node.captures; ++i) {
        const ValueId outside = node.inputs[node.inputs.size() - i];
        if (!outside.valid()) return error(node.name, "captures no value");
      }
    }
    return {};
  }

  Status check_expr(const Value& value, const Expr& expr) const {
    if (symbols_below(expr, graph_.symbols.size())) return {};
    return error("", "value '{}' uses a symbol that does not exist", value.name);
  }

  Status check_container(const Value& value) const {
    if (value.container == nullptr) return {};
    const Container& container = *value.container;
    const bool fits = !container.types.empty() && container.types.size() <= kMaxContainers &&
                      value.shape.empty() && !value.content &&
                      (value.kind == ValueKind::kInput || value.kind == ValueKind::kResult) &&
                      (!container.dims || container.dims->size() <= std::size_t{Dims::kMaxRank});
    if (fits && std::ranges::find(container.types, ObjectType::kTensor) == container.types.end())
      return {};
    return error("", "value '{}' cannot be a {}", value.name, to_string(container, value.dtype));
  }

  Status check_shape(const Value& value) const {
    if (value.shape.size() > static_cast<std::size_t>(Dims::kMaxRank)) {
      return error("", "value '{}' has rank {}", value.name, value.shape.size());
    }
    for (const Expr& dim : value.shape) {
      const auto number = dim.constant();
      if (!number) {
        PX_RETURN_IF_ERROR(check_expr(value, dim));
      } else if (*number < 0) {
        return error("", "value '{}' has dimension {}", value.name, *number);
      }
    }
    return {};
  }

  /// Elements of a shape without symbols.
  static std::optional<std::int64_t> elements(const Shape& shape) {
    Dims dims;
    for (const Expr& dim : shape) {
      if (!dim.constant()) return std::nullopt;
      dims.push_back(*dim.constant());
    }
    return dims.checked_elements();
  }

  Status check_content(const Value& value) const {
    if (!value.content) return {};
    if (!contains(kContentTypes, value.dtype) || value.content->size() > kMaxContent) {
      return error("", "value '{}' of {} carries {} elements as expressions", value.name,
                   to_string(value.dtype), value.content->size());
    }
    if (elements(value.shape) != static_cast<std::int64_t>(value.content->size())) {
      return error("", "value '{}' of shape {} carries {} elements", value.name,
                   to_string(value.shape, graph_.symbol_names()), value.content->size());
    }
    for (const Expr& element : *value.content) PX_RETURN_IF_ERROR(check_expr(value, element));
    return {};
  }

  Status check_constant(const Value& value) const {
    const Constant& constant = *value.constant;
    const auto bytes = bytes_of(constant.dtype, constant.dims);
    const bool fits = constant.dtype == DType::kString
                          ? strings_of(constant).has_value()
                          : bytes && static_cast<std::size_t>(*bytes) == constant.bytes.size();
    if (!fits) {
      return error("", "constant '{}' of {} {} has {} bytes", value.name, to_string(constant.dtype),
                   constant.dims.to_string(), constant.bytes.size());
    }
    if (constant.dtype != value.dtype || !std::ranges::equal(value.shape, constant.dims.span())) {
      return error("", "constant '{}' is {} {} but its value says {} {}", value.name,
                   to_string(constant.dtype), constant.dims.to_string(), to_string(value.dtype),
                   to_string(value.shape, graph_.symbol_names()));
    }
    return {};
  }

  Status check_values() const {
    for (const ValueId id : graph_.values.ids()) {
      const Value& value = graph_.values[id];
      PX_RETURN_IF_ERROR(check_container(value));
      PX_RETURN_IF_ERROR(check_shape(value));
      PX_RETURN_IF_ERROR(check_content(value));
      if (value.constant.has_value() != (value.kind == ValueKind::kConstant)) {
        return error("", "value '{}': only constants have bytes, and all of them", value.name);
      }
      if (value.constant) PX_RETURN_IF_ERROR(check_constant(value));
      if (value.kind == ValueKind::kSymbolic && !value.content) {
        return error("", "symbolic value '{}' has no content", value.name);
      }
      PX_RETURN_IF_ERROR(check_producer(id));
    }
    return {};
  }

  Status check_producer(ValueId id) const {
    const Value& value = graph_.values[id];
    if (value.kind != ValueKind::kResult) {
      if (value.producer.valid()) return error("", "value '{}' needs no producer", value.name);
      return {};
    }
    if (!graph_.nodes.contains(value.producer)) {
      return error("", "value '{}' has no producer", value.name);
    }
    return {};
  }

  Status check_nodes() const {
    IdVector<ValueId, bool> made(graph_.values.size(), false);
    for (const NodeId id : graph_.nodes.ids()) {
      const Node& node = graph_.nodes[id];
      for (const ValueId input : node.inputs) {
        if (!input.valid()) continue;
        if (!graph_.values.contains(input)) return error(node.name, "reads a missing value");
        const Value& value = graph_.values[input];
        if (value.kind == ValueKind::kResult && !made[input]) {
          return error(node.name, "reads '{}' before it is computed", value.name);
        }
      }
      PX_RETURN_IF_ERROR(check_bodies(node));
      for (const ValueId output : node.outputs) {
        if (!output.valid()) continue;
        if (!graph_.values.contains(output)) return error(node.name, "writes a missing value");
        const Value& value = graph_.values[output];
        if (value.kind != ValueKind::kResult || value.producer != id || made[output]) {
          return error(node.name, "writes '{}', which is not its to write", value.name);
        }
        made[output] = true;
      }
    }
    for (const ValueId id : graph_.values.ids()) {
      if (graph_.values[id].kind == ValueKind::kResult && !made[id]) {
        return error(graph_.nodes[graph_.values[id].producer].name, "does not write '{}'",
                     graph_.values[id].name);
      }
    }
    return {};
  }

  Status check_ends() const {
    IdVector<ValueId, bool> listed(graph_.values.size(), false);
    for (const ValueId id : graph_.inputs) {
      if (!graph_.values.contains(id)) return error("", "an input of the graph does not exist");
      if (graph_.values[id].kind != ValueKind::kInput || listed[id]) {
        return error("", "'{}' is listed as an input but is not one, or twice",
                     graph_.values[id].name);
      }
      listed[id] = true;
    }
    for (const ValueId id : graph_.values.ids()) {
      if (graph_.values[id].kind == ValueKind::kInput && !listed[id]) {
        return error("", "'{}' is not in the list of inputs", graph_.values[id].name);
      }
    }
    for (const ValueId id : graph_.outputs) {
      if (!graph_.values.contains(id)) return error("", "an output of the graph does not exist");
    }
    return check_states();
  }

  Status check_states() const {
    const std::size_t count = graph_.states.size();
    if (count > std::min(graph_.inputs.size(), graph_.outputs.size()) ||
        (count > 0 && around_ != nullptr))
      return error("", "the graph has states without an input and an output");
    for (std::size_t i = 0; i < count; ++i) {
      const Value& input = graph_.values[graph_.inputs[graph_.inputs.size() - count + i]];
      const Value& output = graph_.values[graph_.outputs[graph_.outputs.size() - count + i]];
      if (is_object(input) || is_object(output) || input.dtype != output.dtype ||
          input.shape.size() != output.shape.size())
        return error("", "'{}' cannot become the state '{}'", output.name, input.name);
      const auto& first = graph_.states[i];
      if (first && !has_type_of(*first, input))
        return error("", "the first value of the state '{}' has another type", input.name);
    }
    return {};
  }

  static bool has_type_of(const Constant& constant, const Value& value) {
    bool same = constant.dtype == value.dtype &&
                constant.dims.rank() == static_cast<int>(value.shape.size());
    for (int i = 0; same && i < constant.dims.rank(); ++i)
      same = value.shape[static_cast<std::size_t>(i)].constant() == constant.dims[i];
    return same && bytes_of(constant.dtype, constant.dims) == std::ssize(constant.bytes);
  }

  const Graph& graph_;
  const Stage stage_;
  const Graph* const around_;  ///< null for a graph that is no body
  const int depth_;
};

}  // namespace

Status verify(const Graph& graph, Stage stage) {
  PX_RETURN_IF_ERROR(verify_structure(graph, stage));
  return verify_names(graph, stage);
}

Status verify_structure(const Graph& graph, Stage stage) {
  return Verifier(graph, stage, nullptr, 0).structure();
}

Status verify_names(const Graph& graph, Stage stage) {
  return Verifier(graph, stage, nullptr, 0).names();
}

}  // namespace parallax
