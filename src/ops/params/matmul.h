// Attributes of products of matrices: MatMul, Gemm and MatMulNBits. MatMulInteger has those of
// ops/params/quantised.h and, internally, none of these.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// MatMul: numpy's matmul of kWideTypes. Files have no attribute; the pass
/// lower/cpu/factor_attention.cc sets this one.
struct MatMulParams {
  /// The right operand is Transpose(input 1, perm). Empty: the input as it is. Others than
  /// permutations of its axes are refused (kInvalidModel).
  std::vector<std::int64_t> b_perm;

  template <class Visitor>
  void visit(Visitor& v) {
    v.internal("b_perm", b_perm);
  }
};

/// Gemm: alpha A' B' + beta C for matrices A and B; C broadcasts to the result and may be left out.
struct GemmParams {
  /// ONNX `alpha` and `beta`: factors of the product and of C.
  float alpha = 1, beta = 1;
  /// ONNX `transA` and `transB`: A' is A [m, k], or the transpose of A [k, m]; B' is B [k, n], or
  /// the transpose of B [n, k].
  bool trans_a = false, trans_b = false;

  template <class Visitor>
  void visit(Visitor& v) {
    v("alpha", alpha);
    v("beta", beta);
    v("transA", trans_a);
    v("transB", trans_b);
  }
};

/// MatMulNBits of com.microsoft: rows of `depth` floats times weights of few bits, which have a
/// scale for each block of a column. bits_product() of ops/quantised.h checks the numbers.
struct MatMulNBitsParams {
  /// Microsoft's `K`, `N`, `bits` and `block_size`. K and N are in [1, 2^24] and have no default: 0
  /// is refused. Bits are 2, 4 or 8; the block has at least 16 weights, a multiple of 8.
  std::int64_t depth = 0, columns = 0, bits = 4, block_size = 0;
  /// Microsoft's `accuracy_level`: the least precision of the products. A hint that is not read.
  std::int64_t accuracy_level = 0;

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
