// Functions that a kernel applies to its results before it writes them. Passes set them
// (lower/patterns/fuse_activation.cc) on operators whose OpDef::epilogue is true. Plain values.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "ir/op_kind.h"

namespace parallax {

/// An operator of ir/activations.def with its parameters, each at its default where the operator
/// has none; kIdentity: none.
struct Activation {
  OpKind op = OpKind::kIdentity;
  float alpha = 1;  ///< parameter of Silu, LeakyRelu, Elu, HardSigmoid
  float beta = 0;   ///< parameter of HardSigmoid
  float low = std::numeric_limits<float>::lowest();  ///< bound of Clip
  float high = std::numeric_limits<float>::max();    ///< bound of Clip

  explicit operator bool() const { return op != OpKind::kIdentity; }
  /// Compares parameters bit by bit: 0 and -0 are different bounds.
  friend bool operator==(const Activation& a, const Activation& b) {
    const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
    return a.op == b.op && bits(a.alpha) == bits(b.alpha) && bits(a.beta) == bits(b.beta) &&
           bits(a.low) == bits(b.low) && bits(a.high) == bits(b.high);
  }
};

/// All that a kernel applies to a result; empty: it writes the result as it is.
struct Epilogue {
  Activation activation;

  bool empty() const { return !activation; }
  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

/// Returns whether `op` is in ir/activations.def.
constexpr bool is_activation(OpKind op) {
  switch (op) {
#define PX_ACTIVATION(name) case OpKind::k##name:
#include "ir/activations.def"
#undef PX_ACTIVATION
    return true;
    default:
      return false;
  }
}

/// Calls field(name, value) for each parameter, as texts and files of graphs name them.
/// `activation` may be const.
template <class A, class Field>
void for_each_parameter(A& activation, Field field) {
  field("alpha", activation.alpha);
  field("beta", activation.beta);
  field("low", activation.low);
  field("high", activation.high);
}

}  // namespace parallax
