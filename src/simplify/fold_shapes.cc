// Replaces nodes whose results are small integer tensors with elements that inference knows as
// expressions of the input dimensions: they become symbolic values, or constants if no symbol is
// left. So Shape -> Gather -> Concat -> Reshape chains disappear.
#include <algorithm>

#include "ir/dtype_sets.h"
#include "ir/elements.h"
#include "simplify/rewrite.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

Constant constant_of(const Value& value) {
  Dims dims;
  for (const Expr& dim : value.shape) dims.push_back(*dim.constant());
  std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_of(value.dtype, dims).value_or(0)));
  for (std::size_t i = 0; i < value.content->size(); ++i)
    store_integer(value.dtype, *(*value.content)[i].constant(), bytes.data(), i);
  return make_constant(value.dtype, dims, bytes);
}

bool all_constant(const std::vector<Expr>& content) {
  return std::ranges::all_of(content, [](const Expr& e) { return e.constant().has_value(); });
}

/// Returns whether binding the inputs' dimensions determines every element: dimensions that depend
/// on values are known too late, so their arithmetic stays.
bool known_when_bound(const Graph& graph, const Value& value) {
  if (!value.content) return false;
  if (all_constant(*value.content)) {
    return contains(kContentTypes, value.dtype);
  }
  if (!contains(kIndexTypes, value.dtype)) return false;
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
