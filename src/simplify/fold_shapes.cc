// Small integer tensors whose elements inference knows as expressions of the input dimensions need
// no nodes that compute them: they become symbolic values, or constants where no symbol is left. So
// Shape -> Gather -> Concat -> Reshape chains vanish.
#include <algorithm>

#include "simplify/rewrite.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

template <class T>
Constant constant_of(const Dims& dims, const std::vector<Expr>& content) {
  std::vector<T> elements;
  for (const Expr& e : content) elements.push_back(static_cast<T>(*e.constant()));
  DType dtype = sizeof(T) == 8 ? DType::kI64 : DType::kI32;
  if (sizeof(T) == 1) dtype = DType::kBool;
  return make_constant(dtype, dims, std::as_bytes(std::span(elements)));
}

Constant constant_of(const Value& value) {
  Dims dims;
  for (const Expr& dim : value.shape) dims.push_back(*dim.constant());
  if (value.dtype == DType::kI64) return constant_of<std::int64_t>(dims, *value.content);
  if (value.dtype == DType::kI32) return constant_of<std::int32_t>(dims, *value.content);
  return constant_of<std::uint8_t>(dims, *value.content);
}

bool all_constant(const std::vector<Expr>& content) {
  return std::ranges::all_of(content, [](const Expr& e) { return e.constant().has_value(); });
}

/// True where binding the inputs' dimensions gives every element: dimensions that depend on values
/// are known too late, so their arithmetic stays.
bool known_when_bound(const Graph& graph, const Value& value) {
  if (!value.content) return false;
  if (all_constant(*value.content)) {
    return value.dtype == DType::kI64 || value.dtype == DType::kI32 || value.dtype == DType::kBool;
  }
  if (value.dtype != DType::kI64 && value.dtype != DType::kI32) return false;
  for (const Expr& e : *value.content) {
    if (e.overflow()) return false;
    for (const SymbolId symbol : e.symbols()) {
      if (graph.symbols[symbol].kind != SymbolKind::kInput) return false;
    }
  }
  return true;
}

}  // namespace

Result<int> fold_shapes(Graph& graph, const PassContext&) {
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const std::vector<ValueId> outputs = graph.nodes[id].outputs;
    const bool known = std::ranges::all_of(outputs, [&](ValueId output) {
      return !output.valid() || known_when_bound(graph, graph.values[output]);
    });
    if (!known) continue;
    for (const ValueId output : outputs) {
      if (!output.valid()) continue;
      const Value& value = graph.values[output];
      if (all_constant(*value.content)) {
        make_constant_value(graph, output, constant_of(value));
      } else {
        make_symbolic_value(graph, output);
      }
    }
    ++changes;
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
