// Fuses MatMulInteger or ConvInteger, Cast to f32 and Mul by the scales of both operands into one
// product, with the bias that an Add adds: the form of dynamic quantisation.
#include <array>
#include <optional>
#include <utility>

#include "lower/cpu/lower.h"
#include "ops/quantised.h"
#include "simplify/rewrite.h"

namespace parallax {
namespace {

/// Returns whether `id` is one f32 for all, or a known one for each element of the last axis.
bool is_scale(const Graph& graph, ValueId id) {
  const Value& value = graph.values[id];
  if (value.dtype != DType::kF32) return false;
  if (value.shape.empty()) return true;
  return value.shape.size() == 1 && value.shape[0].constant() && value.constant;
}

bool has_one(const Graph& graph, ValueId id) {
  const Shape& shape = graph.values[id].shape;
  return shape.empty() || (shape.size() == 1 && shape[0] == Expr(1));
}

/// The two factors of the scale of a product: one of X, a number, and one of W.
struct Scales {
  ValueId x, w;
};
std::optional<Scales> scales_of(const Graph& graph, ValueId value) {
  const Node* both = produced_by(graph, value, OpKind::kMul);
  if (both == nullptr) return std::nullopt;
  const ValueId a = both->inputs[0], b = both->inputs[1];
  if (!is_scale(graph, a) || !is_scale(graph, b)) return std::nullopt;
  const bool first_is_x = graph.values[b].constant.has_value();
  if (!first_is_x && !graph.values[a].constant) return std::nullopt;
  const Scales scales{first_is_x ? a : b, first_is_x ? b : a};
  return has_one(graph, scales.x) ? std::optional(scales) : std::nullopt;
}

/// MatMulInteger of [.., K] and constant weights [K, N] that are read in one way, as f32.
const Node* integers_of(const Graph& graph, const Readers& readers, ValueId value) {
  const Node* cast = produced_by(graph, value, OpKind::kCast);
  if (cast == nullptr || graph.values[value].dtype != DType::kF32 || !readers.single(value) ||
      !readers.single(cast->inputs[0]))
    return nullptr;
  const Node* product = produced_by(graph, cast->inputs[0], OpKind::kMatMulInteger);
  if (product == nullptr || has_scales(*product)) return nullptr;
  const auto& weights = graph.values[product->inputs[kProductW]].constant;
  return weights && weights->dims.rank() == 2 ? product : nullptr;
}

/// Fuses `id`, which multiplies the integers by their scale.
bool fuse_scale(Graph& graph, const Readers& readers, NodeId id) {
  const Node& node = graph.nodes[id];
  for (const std::size_t side : {0U, 1U}) {
    const Node* product = integers_of(graph, readers, node.inputs[side]);
    const auto scales = product == nullptr ? std::nullopt : scales_of(graph, node.inputs[1 - side]);
    if (!scales) continue;
    const Constant& weights = *graph.values[product->inputs[kProductW]].constant;
    const std::int64_t count = graph.values[scales->w].constant->dims.elements();
    const bool same = graph.values[node.outputs[0]].shape == graph.values[node.inputs[side]].shape;
    if (!same || (count != 1 && count != weights.dims[1])) continue;
    std::vector<ValueId> inputs = product->inputs;
    inputs.resize(kProductInputs);
    inputs[kProductXScale] = scales->x;
    inputs[kProductWScale] = scales->w;
    rewrite_node(graph, id, OpKind::kMatMulInteger, std::move(inputs), {});
    return true;
  }
  return false;
}

/// Fuses `id`, which adds a number to each column of such a product.
bool fuse_bias(Graph& graph, const Readers& readers, NodeId id) {
  const Node& node = graph.nodes[id];
  for (const std::size_t side : {0U, 1U}) {
    const Node* product = produced_by(graph, node.inputs[side], OpKind::kMatMulInteger);
    if (product == nullptr || !has_scales(*product) || is_requantised(*product) ||
        product->inputs[kProductBias].valid() || !readers.single(node.inputs[side]))
      continue;
    const Constant* bias = float_constant(graph, node.inputs[1 - side]);
    const Constant& weights = *graph.values[product->inputs[kProductW]].constant;
    if (bias == nullptr || bias->dims.rank() != 1 || bias->dims[0] != weights.dims[1]) continue;
    std::vector<ValueId> inputs = product->inputs;
    inputs[kProductBias] = node.inputs[1 - side];
    rewrite_node(graph, id, OpKind::kMatMulInteger, std::move(inputs), {});
    return true;
  }
  return false;
}

}  // namespace

Result<int> fuse_dynamic_products(Graph& graph, const PassContext&) {
  const Readers readers(graph);
  int changes = 0;
  for (const NodeId id : graph.nodes.ids()) {
    const OpKind op = graph.nodes[id].op;
    if (op == OpKind::kMul && fuse_scale(graph, readers, id)) ++changes;
    if (op == OpKind::kAdd && fuse_bias(graph, readers, id)) ++changes;
  }
  if (changes > 0) erase_unused(graph);
  return changes;
}

}  // namespace parallax
