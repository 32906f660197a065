// The micro-kernel of unsigned bytes times signed ones: MatMulPanel::bias is i32, and
// MatMulPanel::requantise says how sums are converted. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/gemm/panel.h"

namespace parallax {

/// Returns the widths of panels on this CPU, the same for the life of the process.
MatMulWidths byte_widths();
/// Multiplies rows of A with a panel of B by the fastest implementation.
void byte_panel(const MatMulPanel& panel);

/// Implements byte_panel() on any CPU; accepts panels of any multiple of its vector.
void portable_byte_panel(const MatMulPanel& panel);
/// Returns true if the CPU has AVX-512 and VNNI, which vnni_panel() requires, and Highway may use
/// AVX-512.
bool cpu_has_vnni();
inline constexpr MatMulWidths kVnniWidths = {64, 16};
void vnni_panel(const MatMulPanel& panel);

/// Returns true if the CPU looks up bytes in tables that registers hold (AVX-512 VBMI).
bool cpu_permutes_bytes();
/// Replaces x[i] with table[x[i]] in `rows` rows of `n` bytes that lie `stride` apart; the table
/// has 256 entries.
void apply_byte_table(const std::uint8_t* table, std::uint8_t* x, std::size_t stride,
                      std::size_t rows, std::size_t n);
/// Writes y[i] = table[x[i]] for n bytes; x may be y.
void look_up_bytes(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y,
                   std::size_t n);

}  // namespace parallax
