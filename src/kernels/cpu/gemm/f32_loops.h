// The micro-kernel of f32, for the instruction set of this machine. Thread-safe.
#pragma once

#include "kernels/cpu/gemm/panel.h"

namespace parallax {

/// Returns the widths of panels, the same for the life of the process.
MatMulWidths matmul_widths();
/// Multiplies rows of A with a panel of B; a step of depth is one f32.
void matmul_panel(const MatMulPanel& panel);
/// As matmul_panel() of a panel whose B is f16: `depth` rows of `ldb` elements from `halves` on, as
/// f32 in `block`, which it fills. REQUIRES: no segments.
void matmul_halves(const MatMulPanel& panel, const void* halves, float* block);

}  // namespace parallax
