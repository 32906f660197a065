// MatMul and Gemm with a constant right operand where bf16 was asked for: weights are rounded when
// they are packed, rows by each tile into its scratch; sums, bias and activation are f32. Cut like
// the products of f32, see matmul_constant.cc.
#include "kernels/cpu/matmul/bf16_matmul.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/checked.h"
#include "base/status.h"
#include "kernels/cpu/gemm/bf16_matrix.h"
#include "kernels/cpu/gemm/matmul_block.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Rows of A that are worked on at once hold at most this many elements (192 KiB).
constexpr std::int64_t kBlockElements = 98304;
/// Few rows leave little time per step: short blocks of B then give the prefetch a near target.
/// Else a block is as long as two of them fit a second-level cache.
constexpr std::int64_t kFewRows = 18, kShortPairs = 128, kLongPairs = 768;
/// A tile takes about kTileNanoseconds at 200 multiply-adds and 20 bytes of weights each. Each
/// tile rounds its rows and waits for its first weights, so nodes of many tiles have larger ones.
/// On one thread, tiles of twice the length: DistilBERT of 64 tokens 27.3 instead of 28.5 ms,
/// CLIP's text 25.1 instead of 26.2.
constexpr std::int64_t kTileNanoseconds = 50000, kMostTileNanoseconds = 100000, kManyTiles = 8;

struct MatMulCut {
  std::int64_t row_blocks = 0, block_rows = 0, panel_groups = 0, depth_blocks = 0;
};

MatMulCut cut_matmul(std::int64_t rows, const Bf16Matrix& b) {
  const std::int64_t block =
      std::clamp(kBlockElements / b.panels.depth, kFewestBlockRows, kMostBlockRows) /
      kBlockRowGranule * kBlockRowGranule;
  MatMulCut cut;
  cut.row_blocks = tile_count(rows, block);
  // Rounding to the granule may lend a block some rows of its neighbour.
  cut.block_rows = std::min(rows, block + kBlockRowGranule);
  const auto panel_pairs = b.pairs() * static_cast<std::int64_t>(kBf16Panel);
  const std::int64_t panel_cost =
      std::max(panel_pairs / 5, panel_pairs / 100 * std::min(rows, block));
  const double node_cost =
      static_cast<double>(panel_cost) * static_cast<double>(cut.row_blocks * b.panels.panels());
  const auto tile_cost = static_cast<std::int64_t>(
      std::clamp<double>(node_cost / kManyTiles, kTileNanoseconds, kMostTileNanoseconds));
  const std::int64_t panels =
      std::max<std::int64_t>(tile_cost / std::max<std::int64_t>(panel_cost, 1), 1);
  cut.panel_groups = tile_count(b.panels.panels(), panels);
  cut.depth_blocks =
      tile_count(b.pairs(), std::min(rows, block) <= kFewRows ? kShortPairs : kLongPairs);
  return cut;
}

class Bf16MatMul final : public Kernel {
 public:
  Bf16MatMul(std::int64_t rows, Bf16Matrix b, const Unary& activation)
      : rows_(rows), b_(std::move(b)), activation_(activation), cut_(cut_matmul(rows, b_)) {}

  std::int64_t tiles() const override { return cut_.row_blocks * cut_.panel_groups; }
  std::int64_t scratch_bytes() const override {
    return cut_.block_rows * b_.pairs() * static_cast<std::int64_t>(sizeof(Bf16Pair));
  }
  InputUse input_use(std::size_t i) const override {
    return i == 1 ? InputUse::kNone : InputUse::kAligned;
  }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const auto rows =
        tile_range(rows_, cut_.row_blocks, tile / cut_.panel_groups, kBlockRowGranule);
    const auto panels = tile_range(b_.panels.panels(), cut_.panel_groups, tile % cut_.panel_groups);
    const std::size_t depth = to_size(b_.panels.depth);
    const bool rounded = args.previous_tile >= 0 &&
                         args.previous_tile / cut_.panel_groups == tile / cut_.panel_groups;
    if (!rounded)
      round_to_bf16(args.in<float>(0) + rows.begin * b_.panels.depth, depth,
                    to_size(rows.end - rows.begin), depth,
                    reinterpret_cast<Bf16Pair*>(args.scratch.data()), to_size(b_.pairs()));
    const Bf16Rows a{reinterpret_cast<const Bf16Pair*>(args.scratch.data()),
                     rows.end - rows.begin,
                     args.out<float>() + rows.begin * b_.panels.columns,
                     args.inputs.size() > 2 ? args.in<float>(2) : nullptr,
                     activation_,
                     cut_.depth_blocks};
    // The panel after the last is likely this thread's next, in another tile.
    for (std::int64_t p = panels.begin; p < panels.end; ++p)
      multiply(a, b_, p, p + 1 < b_.panels.panels());
    return {};
  }

 private:
  std::int64_t rows_;
  Bf16Matrix b_;
  Unary activation_;
  MatMulCut cut_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_bf16_matmul(const PackSource& source, std::int64_t rows,
                                                 const Unary& activation, PackedWeights& packed) {
  const auto row_bytes = checked_mul(source.depth, (kMostBlockRows + kBlockRowGranule) * 4);
  if (!row_bytes) return not_covered();
  const std::string layout = fmt::format("matmul {}x{}{} alpha {}", source.depth, source.columns,
                                         source.transposed ? " transposed" : "", source.alpha);
  PX_ASSIGN(Bf16Matrix b, pack_bf16(
                              source.data, layout, source.depth, source.columns,
                              [source](const PackedMatrix& panels, std::int64_t p, float* to) {
                                fill_panel(source, panels.column(p), panels.width(p),
                                           panels.stride(p), to);
                              },
                              packed));
  return std::make_unique<Bf16MatMul>(rows, std::move(b), activation);
}

}  // namespace parallax
