#include "device/work_kind.h"

#include <array>
#include <cstddef>

#include "ops/op.h"
#include "ops/params/window.h"

namespace parallax {
namespace {

constexpr std::array<std::string_view, kWorkKinds> kNames = {
    "convolution",   "pointwise", "depthwise", "product",  "attention", "softmax",
    "normalization", "pool",      "reduction", "movement", "function",  "elementwise"};

WorkKind convolution_kind(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || !node.inputs[1].valid()) return WorkKind::kConvolution;
  const Shape& weights = graph.values[node.inputs[1]].shape;  // [Cout, Cin / group, K...]
  const auto is_one = [](const Expr& dim) { return dim.constant() == std::int64_t{1}; };
  if (weights.size() < 3) return WorkKind::kConvolution;
  if (groups_of(node) > 1 && is_one(weights[1])) return WorkKind::kDepthwise;
  for (std::size_t axis = 2; axis < weights.size(); ++axis)
    if (!is_one(weights[axis])) return WorkKind::kConvolution;
  return WorkKind::kPointwise;
}

/// Returns the kind of a product: a product of two results is a part of attention.
WorkKind product_kind(const Graph& graph, const Node& node) {
  for (const ValueId input : node.inputs)
    if (input.valid() && graph.values[input].kind == ValueKind::kConstant)
      return WorkKind::kProduct;
  return WorkKind::kAttention;
}

}  // namespace

std::string_view to_string(WorkKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : "unknown";
}

std::optional<WorkKind> work_kind_from_string(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<WorkKind>(i);
  return std::nullopt;
}

WorkKind work_kind(const Graph& graph, const Node& node) {
  const WorkKind kind = op_def(node.op).traits.work;
  if (kind == WorkKind::kConvolution) return convolution_kind(graph, node);
  return kind == WorkKind::kProduct ? product_kind(graph, node) : kind;
}

}  // namespace parallax
