#include <fmt/core.h>

#include "base/checked.h"
#include "base/status.h"
#include "ir/graph.h"

namespace parallax {
namespace {

Error shape_error(const Graph& graph, const Value& value, ErrorCode code, std::string_view what) {
  const bool made = value.kind == ValueKind::kResult && graph.nodes.contains(value.producer);
  return {Stage::kSchedule, code, made ? graph.nodes[value.producer].name : "",
          fmt::format("value '{}' of shape {}: {}", value.name,
                      to_string(value.shape, graph.symbol_names()), what)};
}

/// Says why `dim` has no value: success if it waits for a kData symbol, an error otherwise.
Status explain(const Graph& graph, const Binding& binding, const Value& value, const Expr& dim) {
  const auto bound = [&](SymbolId id) {
    const auto index = static_cast<std::size_t>(id.value);
    return index < binding.symbols.size() && binding.symbols[index].has_value();
  };
  const std::vector<SymbolId> symbols = dim.symbols();
  for (const SymbolId id : symbols) {
    const Symbol& symbol = graph.symbols[id];
    if (symbol.kind == SymbolKind::kInput && !bound(id)) {
      return tl::unexpected(shape_error(graph, value, ErrorCode::kUnboundSymbol,
                                        fmt::format("'{}' has no value", symbol.name)));
    }
  }
  for (const SymbolId id : symbols) {
    if (!bound(id)) return {};
  }
  std::string values;
  for (const SymbolId id : symbols) {
    values += fmt::format("{}{} = {}", values.empty() ? "" : ", ", graph.symbols[id].name,
                          *binding.symbols[static_cast<std::size_t>(id.value)]);
  }
  return tl::unexpected(
      shape_error(graph, value, ErrorCode::kInvalidInput,
                  fmt::format("with {} a dimension has no value (sizes that do not broadcast, "
                              "overflow or division by 0)",
                              values)));
}

}  // namespace

Binding binding_of_body(const Graph& body, const Binding& around) {
  Binding binding;
  for (const Symbol& symbol : body.symbols) {
    const auto index = static_cast<std::size_t>(symbol.outer.value);
    const bool bound = symbol.outer.valid() && symbol.kind == SymbolKind::kInput;
    binding.symbols.push_back(bound && index < around.symbols.size() ? around.symbols[index]
                                                                     : std::nullopt);
  }
  return binding;
}

Result<IdVector<ValueId, std::optional<Dims>>> concrete_shapes(const Graph& graph,
                                                               const Binding& binding) {
  IdVector<ValueId, std::optional<Dims>> result(graph.values.size());
  for (const ValueId id : graph.values.ids()) {
    const Value& value = graph.values[id];
    if (is_object(value)) continue;
    Dims dims;
    bool known = true;
    for (const Expr& expr : value.shape) {
      const auto dim = expr.evaluate(binding.symbols);
      if (!dim) {
        PX_RETURN_IF_ERROR(explain(graph, binding, value, expr));
        known = false;
      } else if (*dim < 0) {
        return tl::unexpected(shape_error(graph, value, ErrorCode::kInvalidInput,
                                          fmt::format("a dimension comes out as {}", *dim)));
      } else if (known && dims.rank() < Dims::kMaxRank) {
        dims.push_back(*dim);
      }
    }
    if (!known) continue;
    if (!bytes_of(value.dtype, dims)) {
      return tl::unexpected(
          shape_error(graph, value, ErrorCode::kInvalidInput, "too large: " + dims.to_string()));
    }
    result[id] = dims;
  }
  return result;
}

}  // namespace parallax
