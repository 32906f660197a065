// An activation that alone reads a convolution or matrix product becomes the product's epilogue:
// its kernels apply it while the result is in registers.
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "lower/patterns/decompose.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "ops/activation.h"
#include "ops/op.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

/// The bound that input i of a Clip gives, `fallback` where it is left out; nothing where only
/// running tells it.
std::optional<float> bound(const Graph& graph, const Node& clip, std::size_t i, float fallback) {
  if (i >= clip.inputs.size() || !clip.inputs[i].valid()) return fallback;
  const auto number = scalar_constant(graph, clip.inputs[i]);
  return number && !std::isnan(*number) ? number : std::nullopt;
}

/// What kernels apply for `node`; nothing where they have no function for it.
std::optional<Activation> activation_of(const Graph& graph, const Node& node) {
  if (!is_activation(node.op)) return std::nullopt;
  Activation activation{.op = node.op};
  if (node.op == OpKind::kClip) {
    const auto low = bound(graph, node, 1, activation.low);
    const auto high = bound(graph, node, 2, activation.high);
    if (!low || !high) return std::nullopt;
    activation.low = *low;
    activation.high = *high;
  }
  // Kernels have the exact Gelu, and two factors of Silu.
  if (node.attributes.get_string("approximate", "none") != "none") return std::nullopt;
  activation.alpha = node.attributes.get_float("alpha", 1.0F);
  if (activation.alpha != 1 && activation.alpha != kQuickGeluAlpha) return std::nullopt;
  return activation;
}

/// The product that `activation` can move into; null where there is none.
const Node* product_before(const Graph& graph, const Readers& readers, const Node& activation) {
  const ValueId x = activation.inputs[0];
  if (!readers.single(x) || graph.values[x].dtype != DType::kF32) return nullptr;
  const NodeId producer = graph.values[x].producer;
  if (!producer.valid() || graph.values[x].kind != ValueKind::kResult) return nullptr;
  const Node& product = graph.nodes[producer];
  if (!op_def(product.op).epilogue || !product.epilogue.empty()) return nullptr;
  // Without constant weights there is no packed kernel to gain from.
  return float_constant(graph, product.inputs[1]) != nullptr ? &product : nullptr;
}

}  // namespace

Result<int> fuse_activation(Graph& graph, const PassContext&) {
  const Readers readers(graph);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const auto activation = activation_of(graph, graph.nodes[id]);
    if (!activation) continue;
    const Node* product = product_before(graph, readers, graph.nodes[id]);
    if (product == nullptr) continue;
    rewrite_node(graph, id, product->op, product->inputs, product->attributes, {*activation});
    ++changes;
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

void decompose_activation(Parts& parts) {
  const Node& node = parts.node();
  const Activation& activation = node.epilogue.activation;
  std::vector<ValueId> inputs = {parts.op(node.op, node.inputs, node.attributes)};
  Attributes attributes;
  if (activation.op == OpKind::kSilu) attributes.set("alpha", activation.alpha);
  if (activation.op == OpKind::kClip) {
    inputs.push_back(parts.number(activation.low));
    inputs.push_back(parts.number(activation.high));
  }
  parts.result(activation.op, std::move(inputs), std::move(attributes));
}

}  // namespace parallax
