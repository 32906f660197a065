// The smaller elements that a folded constant of f32 is made of, for kernels that keep them so.
#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"

namespace parallax {

/// Constant::is_half and Constant::units.
struct NarrowForm {
  bool is_half = false;
  std::shared_ptr<const std::vector<float>> units;
};

/// Returns the form of the f32 result of a node whose inputs are constants: of a Cast from f16, of
/// a DequantizeLinear of symmetric bytes, and of a Transpose of such a result; otherwise nothing.
/// A pure function.
NarrowForm narrow_form(const Graph& graph, const Node& node);

}  // namespace parallax
