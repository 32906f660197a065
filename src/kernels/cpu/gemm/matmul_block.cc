#include "kernels/cpu/gemm/matmul_block.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm/bf16_block.h"
#include "kernels/cpu/gemm/f32_loops.h"
#include "kernels/cpu/movement/transpose_loops.h"
#include "kernels/cpu/tiles.h"
#include "kernels/kernel.h"

namespace parallax {
namespace {

/// Steps in depth of a panel in scratch.
constexpr std::int64_t kBlockDepth = 256;
/// With fewer rows than these, copying a panel costs more than reading it where it lies.
constexpr std::int64_t kPackRows = 13;
/// And so it does where all of a panel stays in half a first-level cache: then only the first rows
/// read it from afar.
constexpr std::int64_t kSmallPanel = 4096;

/// The panel's `depth` rows from `k` on, each padded with zeros.
void copy_panel(const MatMulBlock& block, std::int64_t k, std::int64_t column, float* to,
                std::size_t depth, std::size_t columns, std::size_t padded) {
  if (block.b_transposed) {
    const float* from = block.b + column * block.ldb + k;
    if (columns < padded) std::fill(to, to + depth * padded, 0.0F);
    transpose_block({reinterpret_cast<const std::byte*>(from), reinterpret_cast<std::byte*>(to),
                     to_size(block.ldb), padded, depth, columns, sizeof(float)});
    return;
  }
  const float* from = block.b + k * block.ldb + column;
  for (std::size_t i = 0; i < depth; ++i) {
    std::memcpy(to, from, columns * sizeof(float));
    std::fill(to + columns, to + padded, 0.0F);
    from += block.ldb;
    to += padded;
  }
}

/// All the depth of the panel that begins at `column`.
void run_panel(const MatMulBlock& block, const MatMulWidths& widths, std::int64_t column,
               float* packed) {
  MatMulPanel panel;
  panel.lda = to_size(block.lda);
  float* const c = block.c + column;
  panel.c = c;
  panel.ldc = to_size(block.ldc);
  panel.rows = to_size(block.rows);
  panel.columns = std::min(widths.panel, to_size(block.columns - column));
  panel.bias = block.bias == nullptr ? nullptr : block.bias + column;
  const std::size_t padded = (panel.columns + widths.vector - 1) / widths.vector * widths.vector;
  const bool in_place = !block.b_transposed && padded == panel.columns &&
                        (block.rows < kPackRows || padded == to_size(block.ldb) ||
                         block.depth * static_cast<std::int64_t>(padded) <= kSmallPanel);
  const std::int64_t blocks = tile_count(block.depth, kBlockDepth);
  for (std::int64_t i = 0; i < blocks; ++i) {
    const auto k = tile_range(block.depth, blocks, i, 4);
    panel.a = block.a + k.begin;
    panel.depth = to_size(k.end - k.begin);
    panel.accumulate = block.accumulate || i > 0;
    if (in_place) {
      panel.b = block.b + k.begin * block.ldb + column;
      panel.ldb = to_size(block.ldb);
    } else {
      copy_panel(block, k.begin, column, packed, panel.depth, panel.columns, padded);
      panel.b = packed;
      panel.ldb = padded;
    }
    matmul_panel(panel);
  }
  if (block.activation != UnaryFunction::kNone)
    apply_unary_rows(block.activation, c, panel.ldc, panel.rows, panel.columns);
}

}  // namespace

std::int64_t matmul_block_scratch_bytes(Precision precision) {
  const std::int64_t f32 =
      kBlockDepth * static_cast<std::int64_t>(matmul_widths().panel * sizeof(float));
  return precision == Precision::kBf16 ? std::max(f32, bf16_block_scratch_bytes()) : f32;
}

void matmul_block(const MatMulBlock& block, std::span<std::byte> scratch) {
  if (block.precision == Precision::kBf16 && block.rows >= kPackRows)
    return bf16_block(block, scratch);
  const MatMulWidths widths = matmul_widths();
  const auto width = static_cast<std::int64_t>(widths.panel);
  for (std::int64_t column = 0; column < block.columns; column += width)
    run_panel(block, widths, column, reinterpret_cast<float*>(scratch.data()));
}

}  // namespace parallax
