#include "kernels/cpu/gemm/matmul_block.h"

#include <algorithm>

#include "kernels/cpu/gemm/cut.h"
#include "kernels/cpu/gemm/epilogue.h"
#include "kernels/cpu/movement/transpose_loops.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Steps of a panel in scratch.
constexpr std::int64_t kBlockSteps = 256;
/// With fewer rows than these, packing a panel costs more than reading it in place.
constexpr std::int64_t kPackRows = 13;
/// Size of the part of A that is converted in one step: rows, and steps of depth.
constexpr std::int64_t kConvertedRows = kMaxBlockRows + kBlockRowGranule, kConvertedSteps = 144;

Step* at(void* from, std::int64_t steps) { return static_cast<Step*>(from) + steps; }
const Step* at(const void* from, std::int64_t steps) {
  return static_cast<const Step*>(from) + steps;
}

/// Packs all columns of B, padded, into `steps` rows.
void pack_panel(const GemmType& type, const ComputedMatrix& b, std::size_t steps,
                std::int64_t padded, void* turned, void* to) {
  const std::size_t depth = to_size(b.depth), columns = to_size(b.columns);
  if (!b.transposed)
    return type.pack_columns(b.from, to_size(b.stride), depth, columns, to, to_size(padded));
  const void* from = b.from;
  std::size_t stride = to_size(b.stride);
  if (type.converts()) {
    type.convert_rows(b.from, stride, columns, depth, turned, steps);
    from = turned;
    stride = steps;
  }
  auto* const bytes = static_cast<std::byte*>(to);
  if (b.columns < padded) std::fill_n(bytes, steps * to_size(padded * kStepBytes), std::byte{0});
  transpose_block({static_cast<const std::byte*>(from), bytes, stride, to_size(padded), steps,
                   columns, kStepBytes});
}

/// Returns the part of B from column `column` and row `k` on.
ComputedMatrix part_of(const ComputedMatrix& b, std::int64_t k, std::int64_t depth,
                       std::int64_t column, std::int64_t columns) {
  const std::int64_t offset = b.transposed ? column * b.stride + k : k * b.stride + column;
  return {b.from + offset, b.stride, b.transposed, depth, columns};
}

/// Calls visit(first column, columns, columns rounded up to a vector) for each panel.
template <class Visit>
void for_each_panel(const MatMulWidths& widths, std::int64_t all, const Visit& visit) {
  const auto width = static_cast<std::int64_t>(widths.panel);
  for (std::int64_t column = 0; column < all; column += width) {
    const std::int64_t columns = std::min(width, all - column);
    visit(column, columns, rounded_up(columns, static_cast<std::int64_t>(widths.vector)));
  }
}

/// Rows and depth of A that are converted in one step; all of them if the type needs no conversion.
struct Part {
  TileRange rows, depth;
  std::int64_t steps;   ///< steps of the depth
  std::int64_t blocks;  ///< blocks that panels are packed in

  Part(const GemmType& type, TileRange rows_of, TileRange depth_of)
      : rows(rows_of),
        depth(depth_of),
        steps(type.steps(depth.end - depth.begin)),
        // A converted part is no longer than a block.
        blocks(type.converts() ? 1 : tile_count(steps, kBlockSteps)) {}
};

/// Addresses of the buffers in scratch.
struct Places {
  std::byte *a, *turned, *panel;

  Places(const GemmType& type, std::byte* scratch) : a(scratch), turned(a), panel(a) {
    if (!type.converts()) return;
    turned = a + kConvertedRows * kConvertedSteps * kStepBytes;
    panel = turned + kConvertedSteps * kStepBytes * static_cast<std::int64_t>(type.widths().panel);
  }
};

class BlockProduct {
 public:
  BlockProduct(const GemmType& type, const MatMulBlock& block, std::byte* scratch)
      : type_(type),
        block_(block),
        b_{block.b, block.ldb, block.b_transposed, block.depth, block.columns},
        places_(type, scratch) {}

  void run() const {
    if (!type_.converts()) return run_part({type_, {0, block_.rows}, {0, block_.depth}});
    const std::int64_t depths = tile_count(block_.depth, kConvertedSteps * type_.elements);
    const std::int64_t blocks = tile_count(block_.rows, kConvertedRows);
    for (std::int64_t i = 0; i < blocks; ++i) {
      const auto rows = tile_range(block_.rows, blocks, i);
      for (std::int64_t j = 0; j < depths; ++j)
        run_part({type_, rows, tile_range(block_.depth, depths, j)});
    }
  }

 private:
  void run_part(const Part& part) const {
    MatMulPanel panel;
    panel.rows = to_size(part.rows.end - part.rows.begin);
    panel.ldc = to_size(block_.ldc);
    panel.lda = to_size(block_.lda);
    const void* a = block_.a + part.rows.begin * block_.lda + part.depth.begin;
    if (type_.converts()) {
      panel.lda = to_size(part.steps);
      type_.convert_rows(a, to_size(block_.lda), panel.rows,
                         to_size(part.depth.end - part.depth.begin), places_.a, panel.lda);
      a = places_.a;
    }
    for_each_panel(type_.widths(), block_.columns,
                   [&](std::int64_t column, std::int64_t columns, std::int64_t padded) {
                     panel.c = block_.c + part.rows.begin * block_.ldc + column;
                     panel.columns = to_size(columns);
                     panel.bias = block_.bias == nullptr ? nullptr : block_.bias + column;
                     run_panel(part, a, column, padded, panel);
                   });
  }

  /// Multiplies the part's depth of the panel that begins at `column`.
  void run_panel(const Part& part, const void* a, std::int64_t column, std::int64_t padded,
                 MatMulPanel& panel) const {
    const auto columns = static_cast<std::int64_t>(panel.columns);
    const bool in_place = !type_.converts() && !b_.transposed && padded == columns &&
                          (block_.rows < kPackRows || padded == b_.stride ||
                           block_.depth * padded <= this_machine().near_panel());
    const std::int64_t depth = part.depth.end - part.depth.begin;
    for (std::int64_t i = 0; i < part.blocks; ++i) {
      const TileRange k =
          part.blocks == 1 ? TileRange{0, depth} : tile_range(depth, part.blocks, i, 4);
      const std::int64_t begin = part.depth.begin + k.begin, end = part.depth.begin + k.end;
      const ComputedMatrix b = part_of(b_, begin, end - begin, column, columns);
      panel.a = at(a, k.begin);
      panel.depth = part.blocks == 1 ? to_size(part.steps) : to_size(end - begin);
      panel.accumulate = block_.accumulate || begin > 0;
      panel.bounds = {};
      if (end == block_.depth) begin_epilogue(type_, block_.activation, panel);
      panel.b = in_place ? static_cast<const void*>(b.from) : places_.panel;
      panel.ldb = to_size(in_place ? b.stride : padded);
      if (!in_place) pack_panel(type_, b, panel.depth, padded, places_.turned, places_.panel);
      type_.multiply(panel);
    }
    if (part.depth.end == block_.depth) finish_epilogue(panel, block_.activation);
  }

  const GemmType& type_;
  const MatMulBlock& block_;
  ComputedMatrix b_;
  Places places_;
};

}  // namespace

std::int64_t matmul_block_scratch_bytes(Precision precision) {
  std::int64_t most = 0;
  // Few rows stay f32.
  for (const GemmType* type : {&gemm_type(Precision::kF32), &gemm_type(precision)}) {
    const auto panel = static_cast<std::int64_t>(type->widths().panel);
    const std::int64_t steps =
        type->converts() ? kConvertedSteps * (kConvertedRows + 2 * panel) : kBlockSteps * panel;
    most = std::max(most, steps * kStepBytes);
  }
  return most;
}

void matmul_block(const MatMulBlock& block, std::span<std::byte> scratch) {
  const bool few = block.rows < kPackRows;
  const GemmType& type = gemm_type(few ? Precision::kF32 : block.precision);
  BlockProduct(type, block, scratch.data()).run();
}

void pack_panels(const GemmType& type, const ComputedMatrix& b, void* turned, void* to) {
  const std::int64_t steps = type.steps(b.depth);
  for_each_panel(type.widths(), b.columns,
                 [&](std::int64_t column, std::int64_t columns, std::int64_t padded) {
                   pack_panel(type, part_of(b, 0, b.depth, column, columns), to_size(steps), padded,
                              turned, at(to, column * steps));
                 });
}

void multiply_panels(const GemmType& type, const PanelsProduct& product) {
  MatMulPanel panel;
  panel.a = product.a;
  panel.lda = panel.depth = to_size(product.steps);
  panel.ldc = to_size(product.c_stride);
  panel.rows = to_size(product.rows);
  for_each_panel(type.widths(), product.columns,
                 [&](std::int64_t column, std::int64_t columns, std::int64_t padded) {
                   panel.b = at(product.b, column * product.steps);
                   panel.ldb = to_size(padded);
                   panel.c = at(product.c, column);
                   panel.columns = to_size(columns);
                   type.multiply(panel);
                 });
}

}  // namespace parallax
