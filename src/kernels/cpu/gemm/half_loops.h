// Products of f32 with weights that are packed as f16: a block of them is widened, then multiplied
// by the micro-kernel of f32, so that sums have the bits that weights of f32 give. Thread-safe. It
// reads half the bytes of f32, which is faster where memory limits the product.
#pragma once

#include <cstddef>

#include "kernels/cpu/gemm/panel.h"

namespace parallax {

/// Bytes of an element of a packing, and the most elements of its rows.
inline constexpr std::size_t kHalfBytes = 2, kMostPadded = 8192;

/// Packs columns as GemmType::pack_columns does. REQUIRES: every element has the value of an f16.
/// REQUIRES: `padded` is at most kMostPadded.
void narrow_columns(const float* from, std::size_t stride, std::size_t depth, std::size_t columns,
                    void* to, std::size_t padded);

/// The product of a panel whose `b` and `next_b` are f16, `ldb` elements from row to row. Blocks
/// have up to 16384 floats (64 KiB on the stack). REQUIRES: no segments; `ldb` is at most
/// kMostPadded.
void half_panel(const MatMulPanel& panel);

}  // namespace parallax
