#include "device/work_kind.h"

#include "ops/params/window.h"

#include <array>
#include <cstddef>

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

/// Returns true for operators that only move elements.
bool moves_elements(OpKind op) {
  switch (op) {
    case OpKind::kConcat:
    case OpKind::kConstantOfShape:
    case OpKind::kExpand:
    case OpKind::kFlatten:
    case OpKind::kGather:
    case OpKind::kGatherND:
    case OpKind::kGridSample:
    case OpKind::kIdentity:
    case OpKind::kMaxUnpool:
    case OpKind::kPad:
    case OpKind::kRange:
    case OpKind::kReshape:
    case OpKind::kResize:
    case OpKind::kScatterND:
    case OpKind::kShape:
    case OpKind::kSize:
    case OpKind::kSlice:
    case OpKind::kSplit:
    case OpKind::kSqueeze:
    case OpKind::kTile:
    case OpKind::kTranspose:
    case OpKind::kUnsqueeze:
      return true;
    default:
      return false;
  }
}

/// Returns true for operators that compute a function of each element, which costs more than a sum.
bool takes_functions(OpKind op) {
  switch (op) {
    case OpKind::kAcos:
    case OpKind::kAcosh:
    case OpKind::kAsin:
    case OpKind::kAsinh:
    case OpKind::kAtan:
    case OpKind::kAtanh:
    case OpKind::kCelu:
    case OpKind::kCos:
    case OpKind::kCosh:
    case OpKind::kElu:
    case OpKind::kErf:
    case OpKind::kExp:
    case OpKind::kGelu:
    case OpKind::kHardSwish:
    case OpKind::kLog:
    case OpKind::kMish:
    case OpKind::kPow:
    case OpKind::kSelu:
    case OpKind::kSigmoid:
    case OpKind::kSilu:
    case OpKind::kSin:
    case OpKind::kSinh:
    case OpKind::kSoftplus:
    case OpKind::kTan:
    case OpKind::kTanh:
      return true;
    default:
      return false;
  }
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
  switch (node.op) {
    case OpKind::kConv:
      return convolution_kind(graph, node);
    case OpKind::kMatMul:
    case OpKind::kGemm:
      return product_kind(graph, node);
    case OpKind::kFusedAttention:
    case OpKind::kCosineAttention:
      return WorkKind::kAttention;
    case OpKind::kSoftmax:
    case OpKind::kLogSoftmax:
      return WorkKind::kSoftmax;
    case OpKind::kLayerNormalization:
    case OpKind::kRMSNormalization:
    case OpKind::kLpNormalization:
    case OpKind::kBatchNormalization:
    case OpKind::kGroupNormalization:
    case OpKind::kInstanceNormalization:
    case OpKind::kLRN:
      return WorkKind::kNormalization;
    case OpKind::kMaxPool:
    case OpKind::kAveragePool:
    case OpKind::kLpPool:
    case OpKind::kMaxRoiPool:
    case OpKind::kRoiAlign:
      return WorkKind::kPool;
    case OpKind::kGlobalAveragePool:
    case OpKind::kReduceL1:
    case OpKind::kGlobalLpPool:
    case OpKind::kGlobalMaxPool:
    case OpKind::kReduceL2:
    case OpKind::kReduceLogSum:
    case OpKind::kReduceLogSumExp:
    case OpKind::kReduceMax:
    case OpKind::kReduceMean:
    case OpKind::kReduceMin:
    case OpKind::kReduceProd:
    case OpKind::kReduceSum:
    case OpKind::kReduceSumSquare:
    case OpKind::kArgMax:
    case OpKind::kArgMin:
    case OpKind::kHardmax:
    case OpKind::kTopK:
      return WorkKind::kReduction;
    default:
      if (moves_elements(node.op)) return WorkKind::kMovement;
      return takes_functions(node.op) ? WorkKind::kFunction : WorkKind::kElementwise;
  }
}

}  // namespace parallax
