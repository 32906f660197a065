#include "kernels/cpu/gemm/bf16_block.h"

#include <algorithm>

#include "kernels/cpu/gemm/bf16_loops.h"
#include "kernels/cpu/gemm/cut.h"
#include "kernels/cpu/gemm/matmul_block.h"
#include "kernels/cpu/movement/transpose_loops.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

constexpr auto kPanel = static_cast<std::int64_t>(kBf16Panel);
constexpr auto kVector = static_cast<std::int64_t>(kBf16Vector);
/// What is rounded at once: rows and depth of A, a panel of that depth of B.
constexpr std::int64_t kRows = kMostBlockRows + kBlockRowGranule, kPairs = 144;

/// Where a part of the product begins, and its size.
struct Part {
  std::int64_t row, rows, k, depth;
  std::int64_t pairs() const { return (depth + 1) / 2; }
};

/// Columns [column, column + columns) of B as pairs [pairs, stride].
void pack_panel(const Bf16Source& b, std::int64_t column, std::int64_t columns, std::int64_t stride,
                Bf16Pair* rounded, Bf16Pair* to) {
  const std::size_t pairs = to_size(pairs_of(b.depth)), depth = to_size(b.depth);
  if (b.transposed) {
    round_to_bf16(b.from + column * b.stride, to_size(b.stride), to_size(columns), depth, rounded,
                  pairs);
    if (columns < stride) std::fill(to, to + pairs * to_size(stride), 0U);
    transpose_block({reinterpret_cast<const std::byte*>(rounded), reinterpret_cast<std::byte*>(to),
                     pairs, to_size(stride), pairs, to_size(columns), sizeof(Bf16Pair)});
    return;
  }
  const float* from = b.from + column;
  for (std::size_t k = 0; k < depth; k += 2) {
    pair_rows(from, k + 1 < depth ? from + b.stride : nullptr, to_size(columns), to);
    from += 2 * b.stride;
    to += stride;
  }
}

void run_part(const MatMulBlock& block, const Part& part, std::span<std::byte> scratch) {
  auto* const a = reinterpret_cast<Bf16Pair*>(scratch.data());
  Bf16Pair* const b = a + kRows * kPairs;
  round_to_bf16(block.a + part.row * block.lda + part.k, to_size(block.lda), to_size(part.rows),
                to_size(part.depth), a, to_size(part.pairs()));
  MatMulPanel panel;
  panel.a = a;
  panel.lda = panel.depth = to_size(part.pairs());
  panel.b = b;
  panel.ldc = to_size(block.ldc);
  panel.rows = to_size(part.rows);
  panel.accumulate = block.accumulate || part.k > 0;
  const Bf16Source source{block.b + part.k * (block.b_transposed ? 1 : block.ldb), block.ldb,
                          block.b_transposed, part.depth, block.columns};
  for (std::int64_t column = 0; column < block.columns; column += kPanel) {
    const std::int64_t columns = std::min(kPanel, block.columns - column);
    const std::int64_t stride = tile_count(columns, kVector) * kVector;
    pack_panel(source, column, columns, stride, b + kPairs * kPanel, b);
    panel.ldb = to_size(stride);
    panel.c = block.c + part.row * block.ldc + column;
    panel.columns = to_size(columns);
    panel.bias = block.bias == nullptr ? nullptr : block.bias + column;
    bf16_panel(panel);
  }
}

}  // namespace

void pack_pairs(const Bf16Source& b, Bf16Pair* scratch, Bf16Pair* to) {
  for (std::int64_t column = 0; column < b.columns; column += kPanel) {
    const std::int64_t columns = std::min(kPanel, b.columns - column);
    const std::int64_t stride = tile_count(columns, kVector) * kVector;
    pack_panel(b, column, columns, stride, scratch, to + column * pairs_of(b.depth));
  }
}

void multiply_pairs(const Bf16Product& product) {
  for (std::int64_t column = 0; column < product.columns; column += kPanel) {
    const std::int64_t columns = std::min(kPanel, product.columns - column);
    MatMulPanel panel;
    panel.a = product.a;
    panel.lda = panel.depth = to_size(product.pairs);
    panel.b = product.b + column * product.panel_pairs;
    panel.ldb = to_size(tile_count(columns, kVector) * kVector);
    panel.c = product.c + column;
    panel.ldc = to_size(product.c_stride);
    panel.rows = to_size(product.rows);
    panel.columns = to_size(columns);
    panel.accumulate = product.accumulate;
    bf16_panel(panel);
  }
}

std::int64_t bf16_block_scratch_bytes() {
  return (kRows + 2 * kPanel) * kPairs * static_cast<std::int64_t>(sizeof(Bf16Pair));
}

void bf16_block(const MatMulBlock& block, std::span<std::byte> scratch) {
  const std::int64_t depth_blocks = tile_count(block.depth, 2 * kPairs);
  const std::int64_t row_blocks = tile_count(block.rows, kRows);
  for (std::int64_t i = 0; i < row_blocks; ++i) {
    const auto rows = tile_range(block.rows, row_blocks, i);
    for (std::int64_t j = 0; j < depth_blocks; ++j) {
      const auto k = tile_range(block.depth, depth_blocks, j);
      run_part(block, {rows.begin, rows.end - rows.begin, k.begin, k.end - k.begin}, scratch);
    }
  }
  if (block.activation != UnaryFunction::kNone)
    apply_unary_rows(block.activation, block.c, to_size(block.ldc), to_size(block.rows),
                     to_size(block.columns));
}

}  // namespace parallax
