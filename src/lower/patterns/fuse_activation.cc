// An activation that alone reads a convolution or matrix product becomes the product's attribute
// `activation`: its kernels apply it while the result is in registers.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "lower/patterns/decompose.h"
#include "lower/patterns/fuse_util.h"
#include "lower/patterns/patterns.h"
#include "ops/activation.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

constexpr std::array kProducers = {OpKind::kConv, OpKind::kMatMul, OpKind::kGemm};
constexpr std::array kActivations = {OpKind::kRelu, OpKind::kSilu, OpKind::kSigmoid, OpKind::kTanh,
                                     OpKind::kGelu};

/// What the attribute calls the function of `node`; empty where it has no name for it.
std::string activation_name(const Node& node) {
  if (std::find(kActivations.begin(), kActivations.end(), node.op) == kActivations.end()) return {};
  // The attribute means the exact Gelu.
  if (node.attributes.get_string("approximate", "none") != "none") return {};
  const float alpha = node.attributes.get_float("alpha", 1.0F);
  if (alpha == kQuickGeluAlpha) return "QuickGelu";
  return alpha == 1 ? std::string(to_string(node.op)) : std::string();
}

/// The product that `activation` can move into; null where there is none.
const Node* product_before(const Graph& graph, const Readers& readers, const Node& activation) {
  const ValueId x = activation.inputs[0];
  if (!readers.single(x) || graph.values[x].dtype != DType::kF32) return nullptr;
  for (const OpKind kind : kProducers) {
    const Node* product = produced_by(graph, x, kind);
    if (product == nullptr || !product->attributes.get_string("activation", "").empty()) continue;
    // Without constant weights there is no packed kernel to gain from.
    return float_constant(graph, product->inputs[1]) != nullptr ? product : nullptr;
  }
  return nullptr;
}

}  // namespace

Result<int> fuse_activation(Graph& graph, const PassContext&) {
  const Readers readers(graph);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    std::string name = activation_name(graph.nodes[id]);
    if (name.empty()) continue;
    const Node* product = product_before(graph, readers, graph.nodes[id]);
    if (product == nullptr) continue;
    Attributes attributes = product->attributes;
    attributes.set("activation", std::move(name));
    rewrite_node(graph, id, product->op, product->inputs, std::move(attributes));
    ++changes;
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

void decompose_activation(Parts& parts) {
  Attributes attributes = parts.node().attributes;
  const std::string name = attributes.get_string("activation", "");
  attributes.erase("activation");
  const ValueId product = parts.op(parts.node().op, parts.node().inputs, std::move(attributes));
  Attributes of_function;
  if (name == "QuickGelu") of_function.set("alpha", kQuickGeluAlpha);
  const auto function = op_from_string(name == "QuickGelu" ? "Silu" : name);
  parts.result(function.value_or(OpKind::kIdentity), {product}, std::move(of_function));
}

}  // namespace parallax
