// The micro-kernel of f32. Thread-safe.
#pragma once

#include "kernels/cpu/gemm/panel.h"

namespace parallax {

MatMulWidths matmul_widths();
void matmul_panel(const MatMulPanel& panel);

}  // namespace parallax
