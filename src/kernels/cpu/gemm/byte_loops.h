// The micro-kernel of unsigned bytes times signed ones: MatMulPanel::bias is i32, and
// MatMulPanel::requantise says how sums are converted. Thread-safe. Four bytes that follow each
// other in depth make a step. Sums are i32 and exact modulo 2^32, so every implementation gives the
// same sums in any order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/gemm/panel.h"

namespace parallax {

/// Returns the widths of panels on this CPU, the same for the life of the process. 64 columns with
/// VNNI, otherwise four vectors of i32.
MatMulWidths byte_widths();
/// Multiplies rows of A with a panel of B by the fastest implementation. REQUIRES: `requantise` is
/// not null, `accumulate` is false.
void byte_panel(const MatMulPanel& panel);

/// Implements byte_panel() on any CPU; accepts panels of any multiple of its vector.
void portable_byte_panel(const MatMulPanel& panel);
/// Returns true if the CPU has AVX-512 and VNNI, which vnni_panel() requires, and Highway may use
/// AVX-512.
bool cpu_has_vnni();
/// Widths of panels that vnni_panel() reads.
inline constexpr MatMulWidths kVnniWidths = {64, 16};
/// Multiplies as byte_panel() does, with AVX-512 VNNI.
void vnni_panel(const MatMulPanel& panel);

/// Returns true if the CPU looks up bytes in tables that registers hold (AVX-512 VBMI). The two
/// functions below use it; the answer does not change while the process runs.
bool cpu_permutes_bytes();
/// Replaces x[i] with table[x[i]] in `rows` rows of `n` bytes that lie `stride` apart; the table
/// has 256 entries. Works in place, without a restriction of alignment.
void apply_byte_table(const std::uint8_t* table, std::uint8_t* x, std::size_t stride,
                      std::size_t rows, std::size_t n);
/// Writes y[i] = table[x[i]] for n bytes; x may be y. Otherwise they must not overlap.
void look_up_bytes(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y,
                   std::size_t n);

}  // namespace parallax
