// Attributes of Einsum.
#pragma once

#include "ops/params/params.h"

namespace parallax {

struct EinsumParams {
  std::string equation;

  template <class Visitor>
  void visit(Visitor& v) {
    v("equation", equation);
  }
};

}  // namespace parallax
