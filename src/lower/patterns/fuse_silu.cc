// Fuses x * Sigmoid(x) into Silu(x), and x * Sigmoid(a x) into Silu with that factor: 1.702 is
// "quick Gelu".
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "lower/patterns/decompose.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "ops/activation.h"
#include "ops/params/activation.h"

namespace parallax {
namespace {

/// Returns the a of a * x, in either order, or of x / (1 / a), if `value` has this form.
std::optional<float> factor_of(const Graph& graph, ValueId value, ValueId x) {
  const Shape& shape = graph.values[x].shape;
  // A constant with many dimensions of one must not have raised the rank.
  if (graph.values[value].shape != shape) return std::nullopt;
  for (const OpKind kind : {OpKind::kMul, OpKind::kDiv}) {
    const Node* scaled = produced_by(graph, value, kind);
    if (scaled == nullptr) continue;
    for (const std::size_t side : {1U, 0U}) {
      if (scaled->inputs[1 - side] != x || (kind == OpKind::kDiv && side == 0)) continue;
      const auto number = scalar_constant(graph, scaled->inputs[side]);
      if (!number) continue;
      const float factor = kind == OpKind::kMul ? *number : 1 / *number;
      if (!std::isfinite(factor) || factor == 0) continue;
      // Exporters round it in several ways; what it is fused into knows one.
      return std::abs(factor - kQuickGeluAlpha) < 1e-6F ? kQuickGeluAlpha : factor;
    }
  }
  return std::nullopt;
}

/// x and a of x * Sigmoid(a * x), in either order.
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
    const ValueId scaled = sigmoid->inputs[0];
    const auto factor = scaled == x ? 1.0F : factor_of(graph, scaled, x);
    if (!factor) continue;
    if (!readers.single(node.inputs[side])) {
      context.missed("something else reads the Sigmoid", node);
    } else if (scaled != x && !readers.single(scaled)) {
      context.missed("something else reads what Sigmoid does", node);
    } else {
      return Silu{x, *factor};
    }
  }
  return std::nullopt;
}

}  // namespace

Result<int> fuse_silu(Graph& graph, const PassContext& context) {
  const auto match = [&](const Readers& readers, const Node& node) {
    return silu_of(graph, readers, context, node);
  };
  return rewrite_matches(graph, match, [&](const Readers&, NodeId id, const Silu& silu) {
    Attributes attributes;
    if (silu.alpha != 1) set_param(attributes, &AlphaParams::alpha, silu.alpha);
    rewrite_node(graph, id, OpKind::kSilu, {silu.x}, std::move(attributes));
  });
}

void decompose_silu(Parts& parts) {
  const float alpha = alpha_of(parts.node());
  const ValueId x = parts.input(0);
  const ValueId scaled = alpha == 1 ? x : parts.op(OpKind::kMul, {x, parts.number(alpha)});
  parts.result(OpKind::kMul, {x, parts.op(OpKind::kSigmoid, {scaled})});
}

}  // namespace parallax
