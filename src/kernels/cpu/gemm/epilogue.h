// What becomes of the sums of a product.
#pragma once

#include "kernels/cpu/elementwise/unary_loops.h"
#include "kernels/cpu/gemm/gemm_type.h"

namespace parallax {

/// Leaves the activation to the micro-kernel where that knows it. REQUIRES: the sums are complete
/// with this panel.
void begin_epilogue(const GemmType& type, const Unary& activation, MatMulPanel& panel);

/// Applies the activation to C, whose sums are complete, unless the micro-kernel has.
void finish_epilogue(const MatMulPanel& panel, const Unary& activation);

}  // namespace parallax
