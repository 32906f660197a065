// Attributes of activations.
#pragma once

#include "ops/activation.h"
#include "ops/params/params.h"

namespace parallax {

/// Celu, Elu, LeakyRelu, Silu and ThresholdedRelu, whose defaults differ.
struct AlphaParams {
  std::optional<float> alpha;

  template <class Visitor>
  void visit(Visitor& v) {
    v("alpha", alpha);
  }

  float alpha_of(OpKind op) const { return alpha.value_or(default_alpha(op)); }
};
/// The attribute alpha of an activation, or its default.
inline float alpha_of(const Node& node) { return params_of<AlphaParams>(node).alpha_of(node.op); }

struct HardSigmoidParams : AlphaParams {
  float beta = 0.5F;

  template <class Visitor>
  void visit(Visitor& v) {
    AlphaParams::visit(v);
    v("beta", beta);
  }
};

struct SeluParams : AlphaParams {
  float gamma = 1.05070102F;

  template <class Visitor>
  void visit(Visitor& v) {
    AlphaParams::visit(v);
    v("gamma", gamma);
  }
};

struct ShrinkParams {
  float bias = 0, lambd = 0.5F;

  template <class Visitor>
  void visit(Visitor& v) {
    v("bias", bias);
    v("lambd", lambd);
  }
};

enum class GeluForm : std::uint8_t { kExact, kTanh };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<GeluForm> = {"none", "tanh"};

struct GeluParams {
  GeluForm form = GeluForm::kExact;

  template <class Visitor>
  void visit(Visitor& v) {
    v("approximate", form);
  }
};

}  // namespace parallax
