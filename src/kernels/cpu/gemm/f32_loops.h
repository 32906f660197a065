// The micro-kernel of f32, for the instruction set of this machine. Thread-safe.
#pragma once

#include "kernels/cpu/gemm/panel.h"

namespace parallax {

/// Returns the widths of panels, the same for the life of the process.
MatMulWidths matmul_widths();
/// Multiplies rows of A with a panel of B; a step of depth is one f32.
void matmul_panel(const MatMulPanel& panel);

}  // namespace parallax
