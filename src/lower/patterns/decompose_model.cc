// Decomposes operators of models into simpler parts, for devices that have these but not the
// operator.
#include <iterator>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "lower/patterns/decompose.h"
#include "ops/op.h"
#include "ops/params/activation.h"
#include "ops/params/normalization.h"

namespace parallax {
namespace {

/// Writes x / 2 (1 + erf(x / sqrt(2))), or the form with tanh.
void decompose_gelu(Parts& parts) {
  const ValueId x = parts.input(0);
  const bool tanh = params_of<GeluParams>(parts.node()).form == GeluForm::kTanh;
  ValueId inner;
  if (tanh) {
    const ValueId square = parts.op(OpKind::kMul, {x, x});
    const ValueId cubic = parts.op(OpKind::kMul, {square, x});
    const ValueId sum =
        parts.op(OpKind::kAdd, {x, parts.op(OpKind::kMul, {cubic, parts.number(0.044715F)})});
    constexpr float kFactor = std::numbers::sqrt2_v<float> * std::numbers::inv_sqrtpi_v<float>;
    inner = parts.op(OpKind::kTanh, {parts.op(OpKind::kMul, {sum, parts.number(kFactor)})});
  } else {
    constexpr float kFactor = std::numbers::sqrt2_v<float> / 2;
    inner = parts.op(OpKind::kErf, {parts.op(OpKind::kMul, {x, parts.number(kFactor)})});
  }
  const ValueId half = parts.op(OpKind::kMul, {x, parts.number(0.5F)});
  parts.result(OpKind::kMul, {half, parts.op(OpKind::kAdd, {inner, parts.number(1)})});
}

/// Writes x max(0, min(1, x / 6 + 1 / 2)).
void decompose_hard_swish(Parts& parts) {
  const ValueId x = parts.input(0);
  const ValueId part = parts.op(OpKind::kMul, {x, parts.number(1.0F / 6)});
  const ValueId line = parts.op(OpKind::kAdd, {part, parts.number(0.5F)});
  const ValueId gate = parts.op(OpKind::kClip, {line, parts.number(0), parts.number(1)});
  parts.result(OpKind::kMul, {x, gate});
}

/// Returns the axes of a normalisation as an input of ReduceMean.
ValueId normalized_axes(Parts& parts) {
  const auto rank = static_cast<std::int64_t>(parts.shape(0).size());
  std::int64_t axis = params_of<AxisParams<-1>>(parts.node()).axis;
  if (axis < 0) axis += rank;
  std::vector<std::int64_t> axes;
  for (; axis < rank; ++axis) axes.push_back(axis);
  return parts.ints(axes);
}

/// off / sqrt(mean of off^2 + epsilon).
ValueId by_deviation(Parts& parts, ValueId off, ValueId axes) {
  const ValueId squares = parts.op(OpKind::kMul, {off, off});
  const ValueId variance = parts.op(OpKind::kReduceMean, {squares, axes});
  const ValueId epsilon = parts.number(params_of<EpsilonParams>(parts.node()).epsilon);
  const ValueId deviation = parts.op(OpKind::kSqrt, {parts.op(OpKind::kAdd, {variance, epsilon})});
  return parts.op(OpKind::kDiv, {off, deviation});
}

/// (x - mean) / sqrt(variance + epsilon) * scale + bias.
void decompose_layer_normalization(Parts& parts) {
  const ValueId x = parts.input(0), axes = normalized_axes(parts);
  const ValueId off = parts.op(OpKind::kSub, {x, parts.op(OpKind::kReduceMean, {x, axes})});
  const ValueId normal = by_deviation(parts, off, axes);
  if (!parts.has(2)) return parts.result(OpKind::kMul, {normal, parts.input(1)});
  parts.result(OpKind::kAdd, {parts.op(OpKind::kMul, {normal, parts.input(1)}), parts.input(2)});
}

/// Writes x / sqrt(mean of x^2 + epsilon) * scale.
void decompose_rms_normalization(Parts& parts) {
  const ValueId normal = by_deviation(parts, parts.input(0), normalized_axes(parts));
  parts.result(OpKind::kMul, {normal, parts.input(1)});
}

/// Returns the inputs of a ReduceSum that replaces the node, which sums squares.
std::vector<ValueId> squared(Parts& parts) {
  std::vector<ValueId> inputs = parts.node().inputs;
  inputs[0] = parts.op(OpKind::kMul, {inputs[0], inputs[0]});
  return inputs;
}

void decompose_reduce_l2(Parts& parts) {
  parts.result(OpKind::kSqrt,
               {parts.op(OpKind::kReduceSum, squared(parts), parts.node().attributes)});
}

void decompose_reduce_sum_square(Parts& parts) {
  parts.result(OpKind::kReduceSum, squared(parts), parts.node().attributes);
}

/// Computes x / norm along one axis; 0 if the norm is 0.
void decompose_lp_normalization(Parts& parts) {
  const ValueId x = parts.input(0);
  const ValueId axis = parts.ints({params_of<AxisParams<-1>>(parts.node()).axis});
  const ValueId norm = params_of<LpNormalizationParams>(parts.node()).p == 1
                           ? parts.op(OpKind::kReduceSum, {parts.op(OpKind::kAbs, {x}), axis})
                           : parts.op(OpKind::kReduceL2, {x, axis});
  const ValueId none = parts.op(OpKind::kEqual, {norm, parts.number(0)});
  const ValueId quotient = parts.op(OpKind::kDiv, {x, norm});
  parts.result(OpKind::kWhere, {none, parts.number(0), quotient});
}

/// Returns whether the statistics are outputs of the node.
bool gives_statistics(const Node& node) {
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i].valid()) return true;
  return false;
}

constexpr Decomposition kModels[] = {
    {"Gelu", [](const Node& node) { return node.op == OpKind::kGelu; }, decompose_gelu},
    {"HardSwish", [](const Node& node) { return node.op == OpKind::kHardSwish; },
     decompose_hard_swish},
    {"LayerNormalization",
     [](const Node& node) {
       const bool plain = node.inputs.size() <= 3 && !gives_statistics(node);
       return node.op == OpKind::kLayerNormalization && plain;
     },
     decompose_layer_normalization},
    {"RMSNormalization", [](const Node& node) { return node.op == OpKind::kRMSNormalization; },
     decompose_rms_normalization},
    {"LpNormalization", [](const Node& node) { return node.op == OpKind::kLpNormalization; },
     decompose_lp_normalization},
    {"ReduceL2", [](const Node& node) { return node.op == OpKind::kReduceL2; },
     decompose_reduce_l2},
    {"ReduceSumSquare", [](const Node& node) { return node.op == OpKind::kReduceSumSquare; },
     decompose_reduce_sum_square},
};

}  // namespace

std::span<const Decomposition> model_decompositions() { return kModels; }

std::span<const Decomposition> delegate_decompositions() {
  static const auto kForms = [] {
    const auto patterns = pattern_decompositions();
    std::vector<Decomposition> forms(patterns.begin(), patterns.end());
    forms.insert(forms.end(), std::begin(kModels), std::end(kModels));
    return forms;
  }();
  return kForms;
}

}  // namespace parallax
