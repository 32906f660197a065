// Attributes of activations: functions of one element that have numbers or a form as parameters. In
// the formulas x is the element; they are those of the ONNX operator pages. Inference checks the
// types of inputs and the form, and accepts any number as parameter. Kernels of every library,
// passes that fuse activations into an epilogue (ir/epilogue.h) and delegates read these structs.
#pragma once

#include "ops/activation.h"
#include "ops/params/params.h"

namespace parallax {

/// The attribute of Celu (since operator set 12), Elu (1), LeakyRelu (1) and ThresholdedRelu (10),
/// and of Silu, which passes alone make. Their defaults differ.
/// Celu: max(0, x) + min(0, alpha (exp(x / alpha) - 1)). Elu: x, below zero alpha (exp(x) - 1).
/// LeakyRelu: x, below zero alpha x. ThresholdedRelu: x above alpha, else 0. Silu: x Sigmoid(alpha
/// x).
struct AlphaParams {
  /// ONNX `alpha`: a slope, a scale or a threshold, as the formula says. Absent: default_alpha() of
  /// the operator (ops/activation.h), which the struct alone cannot tell.
  std::optional<float> alpha;

  template <class Visitor>
  void visit(Visitor& v) {
    v("alpha", alpha);
  }

  /// Returns the attribute, or the default of `op`. REQUIRES: `op` is the operator of the node that
  /// the attributes were read from.
  float alpha_of(OpKind op) const { return alpha.value_or(default_alpha(op)); }
};
/// Returns the attribute alpha of an activation, or its default. REQUIRES: `node` is an operator of
/// AlphaParams or of a struct made of it. Reads the attributes once more with each call.
inline float alpha_of(const Node& node) { return params_of<AlphaParams>(node).alpha_of(node.op); }

/// HardSigmoid: max(0, min(1, alpha x + beta)). Alpha is 0.2 by default.
struct HardSigmoidParams : AlphaParams {
  /// ONNX `beta`: the value at x = 0 before it is limited to [0, 1].
  float beta = 0.5F;

  template <class Visitor>
  void visit(Visitor& v) {
    AlphaParams::visit(v);
    v("beta", beta);
  }
};

/// Selu: gamma x, up to zero gamma alpha (exp(x) - 1). Alpha is 1.67326319 by default, the f32 that
/// the standard states.
struct SeluParams : AlphaParams {
  /// ONNX `gamma`: the scale of the result. The default is the f32 that the standard states.
  float gamma = 1.05070102F;

  template <class Visitor>
  void visit(Visitor& v) {
    AlphaParams::visit(v);
    v("gamma", gamma);
  }
};

/// Shrink (since operator set 9): x + bias below -lambd, x - bias above lambd, else 0. The one
/// activation here that also accepts integers (kNumericTypes).
struct ShrinkParams {
  /// ONNX `bias`, by which elements move towards zero, and `lambd`, half the width of the interval
  /// that becomes 0. Both are f32 whatever the type of x is.
  float bias = 0, lambd = 0.5F;

  template <class Visitor>
  void visit(Visitor& v) {
    v("bias", bias);
    v("lambd", lambd);
  }
};

/// The formula of a Gelu (since operator set 20). kExact: x / 2 (1 + erf(x / sqrt(2))). kTanh: x /
/// 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). The strings are those of the attribute.
enum class GeluForm : std::uint8_t { kExact, kTanh };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<GeluForm> = {"none", "tanh"};

/// Gelu. Model files have it, and lower/patterns/fuse_gelu.cc makes it of the operators that
/// exporters write instead.
struct GeluParams {
  /// ONNX `approximate`. Another string than the two is refused with kUnsupported.
  GeluForm form = GeluForm::kExact;

  template <class Visitor>
  void visit(Visitor& v) {
    v("approximate", form);
  }
};

}  // namespace parallax
