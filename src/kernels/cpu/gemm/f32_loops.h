// The micro-kernel of f32, for the instruction set of this machine. Thread-safe. Every element of C
// is one chain of fused (on targets with FMA) multiply-adds over ascending depth, so it has the
// same bits whatever group of rows or panel it is in.
#pragma once

#include "kernels/cpu/gemm/panel.h"

namespace parallax {

/// Returns the widths of panels, the same for the life of the process. 64 columns for AVX-512, 16
/// for AVX2 and NEON, 8 for SSE.
MatMulWidths matmul_widths();
/// Multiplies rows of A with a panel of B; a step of depth is one f32. Groups of rows that
/// registers hold go over the whole depth; the last vector of columns is masked. Addresses need the
/// alignment of a float only; `rows` may be 0.
void matmul_panel(const MatMulPanel& panel);
/// As matmul_panel() for each product of a series that begins with `first`, whose `next_b` follows
/// the last product. Groups of rows are chosen once: Winograd's products of 24 rows, 16 columns and
/// 16 steps of depth take a tenth less time.
void matmul_panels(const MatMulPanel& first, const PanelSteps& steps);
/// As matmul_panel() of a panel whose B is f16: `depth` rows of `ldb` elements from `halves` on, as
/// f32 in `block`, which it fills. `block` has room for depth * ldb floats. REQUIRES: no segments.
void matmul_halves(const MatMulPanel& panel, const void* halves, float* block);

}  // namespace parallax
