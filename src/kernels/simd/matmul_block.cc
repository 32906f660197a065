#include "kernels/simd/matmul_block.h"

#include <algorithm>
#include <cstring>

#include "kernels/kernel.h"
#include "kernels/simd/matmul_loops.h"
#include "kernels/simd/tiles.h"

namespace parallax {
namespace {

/// Steps in depth of a panel in scratch.
constexpr std::int64_t kBlockDepth = 256;
/// With fewer rows than these, copying a panel costs more than reading it where it lies.
constexpr std::int64_t kPackRows = 13;

void copy_panel(const float* from, std::int64_t ldb, float* to, std::size_t depth,
                std::size_t columns, std::size_t padded) {
  for (std::size_t k = 0; k < depth; ++k) {
    std::memcpy(to, from, columns * sizeof(float));
    std::fill(to + columns, to + padded, 0.0F);
    from += ldb;
    to += padded;
  }
}

/// All the depth of the panel that begins at `column`.
void run_panel(const MatMulBlock& block, const MatMulWidths& widths, std::int64_t column,
               float* packed) {
  MatMulPanel panel;
  panel.lda = to_size(block.lda);
  panel.c = block.c + column;
  panel.ldc = to_size(block.ldc);
  panel.rows = to_size(block.rows);
  panel.columns = std::min(widths.panel, to_size(block.columns - column));
  panel.bias = block.bias == nullptr ? nullptr : block.bias + column;
  const std::size_t padded = (panel.columns + widths.vector - 1) / widths.vector * widths.vector;
  const bool in_place =
      padded == panel.columns && (block.rows < kPackRows || padded == to_size(block.ldb));
  const std::int64_t blocks = tile_count(block.depth, kBlockDepth);
  for (std::int64_t i = 0; i < blocks; ++i) {
    const auto k = tile_range(block.depth, blocks, i, 4);
    panel.a = block.a + k.begin;
    panel.b = block.b + k.begin * block.ldb + column;
    panel.ldb = to_size(block.ldb);
    panel.depth = to_size(k.end - k.begin);
    panel.accumulate = i > 0;
    if (!in_place) {
      copy_panel(panel.b, block.ldb, packed, panel.depth, panel.columns, padded);
      panel.b = packed;
      panel.ldb = padded;
    }
    matmul_panel(panel);
  }
  if (block.activation != UnaryFunction::kNone)
    apply_unary_rows(block.activation, panel.c, panel.ldc, panel.rows, panel.columns);
}

}  // namespace

std::int64_t matmul_block_scratch_bytes() {
  return kBlockDepth * static_cast<std::int64_t>(matmul_widths().panel * sizeof(float));
}

void matmul_block(const MatMulBlock& block, std::span<std::byte> scratch) {
  const MatMulWidths widths = matmul_widths();
  const auto width = static_cast<std::int64_t>(widths.panel);
  for (std::int64_t column = 0; column < block.columns; column += width)
    run_panel(block, widths, column, reinterpret_cast<float*>(scratch.data()));
}

}  // namespace parallax
