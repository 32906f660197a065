// Activations that follow a matrix product. Thread-safe; callers own what panels point to.
#pragma once

#include "kernels/cpu/elementwise/unary_loops.h"
#include "kernels/cpu/gemm/gemm_type.h"

namespace parallax {

/// Leaves the activation to the micro-kernel if it supports it: sets `panel.relu`. Only ReLU of
/// types with GemmType::relu is fused in this way; other activations leave it false. REQUIRES: the
/// sums are complete after this panel.
void begin_epilogue(const GemmType& type, const Unary& activation, MatMulPanel& panel);

/// Applies the activation to C in place, unless the micro-kernel has. C is f32. Called after the
/// panel was multiplied, while it is in the cache. REQUIRES: sums are complete.
void finish_epilogue(const MatMulPanel& panel, const Unary& activation);

}  // namespace parallax
