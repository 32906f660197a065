// Attributes of products of matrices.
#pragma once

#include "ops/params/params.h"

namespace parallax {

struct MatMulParams {
  /// The right operand is Transpose(input 1, perm). Empty: the input as it is.
  std::vector<std::int64_t> b_perm;

  template <class Visitor>
  void visit(Visitor& v) {
    v.internal("b_perm", b_perm);
  }
};

/// alpha A' B' + beta C.
struct GemmParams {
  float alpha = 1, beta = 1;
  bool trans_a = false, trans_b = false;

  template <class Visitor>
  void visit(Visitor& v) {
    v("alpha", alpha);
    v("beta", beta);
    v("transA", trans_a);
    v("transB", trans_b);
  }
};

/// MatMulNBits of com.microsoft. `depth` and `columns` have no default: 0 is refused.
struct MatMulNBitsParams {
  std::int64_t depth = 0, columns = 0, bits = 4, block_size = 0;
  std::int64_t accuracy_level = 0;  ///< a hint that is not read

  template <class Visitor>
  void visit(Visitor& v) {
    v("K", depth);
    v("N", columns);
    v("bits", bits);
    v("block_size", block_size);
    v("accuracy_level", accuracy_level);
  }
};

}  // namespace parallax
