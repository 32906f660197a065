// Residuals and activations, in this order, that follow a matrix product. Thread-safe; callers own
// what panels point to.
#pragma once

#include "kernels/cpu/elementwise/unary_loops.h"
#include "kernels/cpu/gemm/gemm_type.h"

namespace parallax {

/// Leaves residual and activation to the micro-kernel if it supports them (GemmType::finishes):
/// sets `panel.residual`, and `panel.bounds` for ReLU, LeakyReLU and Clip; others leave them null
/// and empty. `residual` lies as C does; null: nothing is added. REQUIRES: the sums are complete
/// after this panel.
void begin_epilogue(const GemmType& type, const Unary& activation, MatMulPanel& panel,
                    const float* residual = nullptr);

/// Adds the residual to C, and applies the activation in place, unless the micro-kernel has. C is
/// f32. Called after the panel was multiplied, while it is in the cache. REQUIRES: sums are
/// complete.
void finish_epilogue(const MatMulPanel& panel, const Unary& activation,
                     const float* residual = nullptr);

}  // namespace parallax
