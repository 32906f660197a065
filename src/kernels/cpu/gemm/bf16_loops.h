// The micro-kernel of bf16, whose sums are f32, and the rounding to bf16. A bf16 is the upper half
// of an f32; products of two are exact in f32. Thread-safe. bf16 has 8 significant bits, so
// rounding an operand changes it by at most 2^-8 of its size. Pairs of depth are added to a sum by
// one instruction, VDPBF16PS.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/gemm/panel.h"

namespace parallax {

/// Two bf16 that follow each other in depth, the first in the low half.
using Bf16Pair = std::uint32_t;

/// Columns of a panel, and the vector that every panel is a multiple of. Columns are f32 of 512-bit
/// vectors.
inline constexpr std::size_t kBf16Panel = 64, kBf16Vector = 16;
/// Returns the widths of panels, which every CPU with these instructions has.
inline MatMulWidths bf16_widths() { return {kBf16Panel, kBf16Vector}; }

/// Converts `rows` rows of `depth` f32 each, `stride` elements apart, times `factor`, rounded to
/// the nearest bf16 (to even if two are equally near; NaN stays NaN, numbers that are too large
/// become infinite, denormals zero), into rows of (depth + 1) / 2 pairs, `pairs` apart; a last odd
/// element is paired with zero. `factor` is applied in f32, before the rounding. `from` and `to`
/// may have any alignment of an element; they may be the same memory if pairs <= stride, as each
/// row of the result is shorter. REQUIRES here and below: cpu_multiplies_bf16().
void round_to_bf16(const float* from, std::size_t stride, std::size_t rows, std::size_t depth,
                   Bf16Pair* to, std::size_t pairs, float factor = 1);

/// Returns the pairs that `depth` elements make.
inline std::int64_t pairs_of(std::int64_t depth) { return (depth + 1) / 2; }

/// Converts `n` columns of two rows, rounded in the same way, into one row of pairs, zeros up to a
/// multiple of kBf16Vector. second may be null: zeros. Reads n elements of each row. Lane j of the
/// result has first[j] in its low half.
void pair_rows(const float* first, const float* second, std::size_t n, Bf16Pair* to);

/// Multiplies rows of A with a panel of B; a step of depth is a Bf16Pair. C and the bias are f32.
/// Groups have up to 6 rows. REQUIRES: at least one row, no segments; MatMulPanel::residual and
/// MatMulPanel::bounds are ignored.
void bf16_panel(const MatMulPanel& panel);

}  // namespace parallax
