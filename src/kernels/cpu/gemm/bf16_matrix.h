// The constant right operand of a product of bf16, in panels that the inner loops read in order:
// half the bytes of a PackedMatrix.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "kernels/cpu/elementwise/unary_loops.h"
#include "kernels/cpu/gemm/bf16_loops.h"
#include "kernels/cpu/gemm/packed_matrix.h"

namespace parallax {

/// [depth, columns] bf16 in panels of kBf16Panel columns, each [pairs(), its stride] pairs; an odd
/// depth and the last panel are padded with zeros.
struct Bf16Matrix {
  PackedMatrix panels;  ///< how columns are cut; its bytes are pairs

  std::int64_t pairs() const { return (panels.depth + 1) / 2; }
  /// From row `pair` of a panel on.
  const Bf16Pair* row(std::int64_t panel, std::int64_t pair) const {
    return reinterpret_cast<const Bf16Pair*>(panels.bytes->data()) +
           panels.column(panel) * pairs() + pair * panels.stride(panel);
  }
};

/// Writes a panel as f32 [depth, stride] over zeros. Called when weights are packed, now or later:
/// it owns what it reads but the constant.
using FillPanel = std::function<void(const PackedMatrix& panels, std::int64_t panel, float* to)>;

/// Packs what `fill` writes; `layout` says what that depends on, and is shared as
/// PackedWeights::get says. Errors: kOutOfMemory.
Result<Bf16Matrix> pack_bf16(const std::byte* source, const std::string& layout, std::int64_t depth,
                             std::int64_t columns, FillPanel fill, PackedWeights& packed);

/// Rows of pairs, side by side, that are multiplied by a matrix.
struct Bf16Rows {
  const Bf16Pair* a = nullptr;  ///< [rows, pairs()]
  std::int64_t rows = 0;
  float* c = nullptr;           ///< [rows, columns]
  const float* bias = nullptr;  ///< [columns], or null
  Unary activation;
  std::int64_t depth_blocks = 1;  ///< blocks that the depth is cut into
};
/// The columns of `panel`: activation(A B + bias). `more`: the panel after it is next.
void multiply(const Bf16Rows& rows, const Bf16Matrix& b, std::int64_t panel, bool more);

}  // namespace parallax
