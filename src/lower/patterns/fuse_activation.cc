// Moves an activation that is the only reader of a convolution or matrix product into the product's
// epilogue: its kernels apply it while the result is in registers.
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lower/patterns/decompose.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "ops/activation.h"
#include "ops/op.h"
#include "ops/params/activation.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

bool has_alpha(OpKind op) {
  return op == OpKind::kSilu || op == OpKind::kLeakyRelu || op == OpKind::kElu ||
         op == OpKind::kHardSigmoid;
}

/// Returns the bound in input i of a Clip; `fallback` if it is left out; nullopt if it is not a
/// constant number.
std::optional<float> bound(const Graph& graph, const Node& clip, std::size_t i, float fallback) {
  if (i >= clip.inputs.size() || !clip.inputs[i].valid()) return fallback;
  const auto number = scalar_constant(graph, clip.inputs[i]);
  return number && !std::isnan(*number) ? number : std::nullopt;
}

}  // namespace

std::optional<Activation> product_activation(const Graph& graph, const Node& node,
                                             std::string_view& why) {
  Activation activation{.op = node.op};
  if (node.op == OpKind::kClip) {
    const auto low = bound(graph, node, 1, activation.low);
    const auto high = bound(graph, node, 2, activation.high);
    if (!low || !high) {
      why = "the bounds are not constant numbers";
      return std::nullopt;
    }
    activation.low = *low;
    activation.high = *high;
  }
  activation.alpha = alpha_of(node);
  if (node.op == OpKind::kHardSigmoid) activation.beta = params_of<HardSigmoidParams>(node).beta;
  if (params_of<GeluParams>(node).form != GeluForm::kExact) {
    why = "kernels of products have the exact Gelu alone";
  } else if (node.op == OpKind::kSilu && activation.alpha != 1 &&
             activation.alpha != kQuickGeluAlpha) {
    why = "kernels of products have two factors of Silu";
  }
  return why.empty() ? std::optional(activation) : std::nullopt;
}

namespace {

/// Returns the product into which `activation` might move; null if there is no such product.
const Node* product_before(const Graph& graph, const Node& activation) {
  const Value& x = graph.values[activation.inputs[0]];
  if (x.kind != ValueKind::kResult || !x.producer.valid() || x.dtype != DType::kF32) return nullptr;
  const Node& product = graph.nodes[x.producer];
  return op_def(product.op).epilogue ? &product : nullptr;
}

/// Returns the reason why `activation` cannot move into `product`; empty: it can.
std::string_view obstacle(const Graph& graph, const Readers& readers, const Node& activation,
                          const Node& product) {
  if (!readers.single(activation.inputs[0])) return "something else reads the product";
  if (!product.epilogue.empty()) return "the product has an activation";
  // There is no packed kernel to gain from.
  if (!graph.values[product.inputs[1]].constant) return "the weights are not constant";
  return {};
}

}  // namespace

Result<int> fuse_activation(Graph& graph, const PassContext& context) {
  const Readers readers(graph);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const Node& node = graph.nodes[id];
    const Node* product = is_activation(node.op) ? product_before(graph, node) : nullptr;
    if (product == nullptr) continue;
    std::string_view why = obstacle(graph, readers, node, *product);
    const auto activation = why.empty() ? product_activation(graph, node, why) : std::nullopt;
    if (!activation) {
      context.missed(why, node);
      continue;
    }
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
  if (has_alpha(activation.op)) set_param(attributes, &AlphaParams::alpha, activation.alpha);
  if (activation.op == OpKind::kHardSigmoid)
    set_param(attributes, &HardSigmoidParams::beta, activation.beta);
  if (activation.op == OpKind::kClip) {
    inputs.push_back(parts.number(activation.low));
    inputs.push_back(parts.number(activation.high));
  }
  parts.result(activation.op, std::move(inputs), std::move(attributes));
}

}  // namespace parallax
