// x * Sigmoid(x) becomes Silu(x), x * Sigmoid(1.702 x) ("quick Gelu") the same with that factor.
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "lower/patterns/decompose.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "ops/activation.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

/// Whether `value` is kQuickGeluAlpha * x, in either order, and nothing else reads it.
bool is_scaled(const Graph& graph, const Readers& readers, ValueId value, ValueId x) {
  const Node* scaled = produced_by(graph, value, OpKind::kMul);
  if (scaled == nullptr || !readers.single(value)) return false;
  for (const std::size_t side : {0U, 1U}) {
    const auto factor = scalar_constant(graph, scaled->inputs[side]);
    if (scaled->inputs[1 - side] == x && factor && std::abs(*factor - kQuickGeluAlpha) < 1e-6F)
      return true;
  }
  return false;
}

/// x and alpha of x * Sigmoid(alpha * x), in either order.
struct Silu {
  ValueId x;
  float alpha = 1;
};
std::optional<Silu> silu_of(const Graph& graph, const Readers& readers, const PassContext& context,
                            const Node& node) {
  if (node.op != OpKind::kMul) return std::nullopt;
  for (const std::size_t side : {0U, 1U}) {
    const ValueId x = node.inputs[1 - side];
    const Node* sigmoid = produced_by(graph, node.inputs[side], OpKind::kSigmoid);
    if (sigmoid == nullptr) continue;
    const bool plain = sigmoid->inputs[0] == x;
    if (!plain && !is_scaled(graph, readers, sigmoid->inputs[0], x)) continue;
    if (readers.single(node.inputs[side])) return Silu{x, plain ? 1 : kQuickGeluAlpha};
    context.missed("something else reads the Sigmoid", node);
  }
  return std::nullopt;
}

}  // namespace

Result<int> fuse_silu(Graph& graph, const PassContext& context) {
  const Readers readers(graph);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const auto silu = silu_of(graph, readers, context, graph.nodes[id]);
    if (!silu) continue;
    Attributes attributes;
    if (silu->alpha != 1) attributes.set("alpha", silu->alpha);
    rewrite_node(graph, id, OpKind::kSilu, {silu->x}, std::move(attributes));
    ++changes;
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

void decompose_silu(Parts& parts) {
  const float alpha = parts.node().attributes.get_float("alpha", 1.0F);
  const ValueId x = parts.input(0);
  const ValueId scaled = alpha == 1 ? x : parts.op(OpKind::kMul, {x, parts.number(alpha)});
  parts.result(OpKind::kMul, {x, parts.op(OpKind::kSigmoid, {scaled})});
}

}  // namespace parallax
