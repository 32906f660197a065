// The attribute of Einsum (since operator set 12). ops/einsum.h parses it.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// Einsum: sums of products of inputs, which the equation names axis by axis.
struct EinsumParams {
  /// ONNX `equation`, e.g. "bhqd,bhkd->bhqk": a term for each input, between commas, and the
  /// result's term after an arrow. A letter names an axis, "..." the axes that a term does not
  /// name; spaces are ignored. Without an arrow the result has the axes of the ellipsis, then the
  /// letters that occur once, capitals first. A letter twice in one term reads the diagonal.
  std::string equation;

  template <class Visitor>
  void visit(Visitor& v) {
    v("equation", equation);
  }
};

}  // namespace parallax
