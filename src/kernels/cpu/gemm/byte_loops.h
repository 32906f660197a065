// The micro-kernel of unsigned bytes times signed ones: MatMulPanel::bias are i32, and
// MatMulPanel::requantise says what becomes of the sums. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/gemm/panel.h"

namespace parallax {

MatMulWidths byte_widths();
void byte_panel(const MatMulPanel& panel);

/// The same on any CPU; panels of a multiple of its vector.
void portable_byte_panel(const MatMulPanel& panel);
/// The same with AVX-512 and VNNI, where the CPU has them.
bool cpu_has_vnni();
inline constexpr MatMulWidths kVnniWidths = {64, 16};
void vnni_panel(const MatMulPanel& panel);

/// Whether bytes go through tables in registers.
bool cpu_permutes_bytes();
/// x[i] = table[x[i]] for `rows` rows of `n` bytes that lie `stride` apart; the table has 256.
void apply_byte_table(const std::uint8_t* table, std::uint8_t* x, std::size_t stride,
                      std::size_t rows, std::size_t n);
/// y[i] = table[x[i]]; x may be y.
void look_up_bytes(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y,
                   std::size_t n);

}  // namespace parallax
