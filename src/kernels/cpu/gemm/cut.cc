#include "kernels/cpu/gemm/cut.h"

#include <algorithm>

#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// With few rows a step is short: short blocks of B then keep the prefetch distance small.
constexpr std::int64_t kFewRows = 18, kShortDepth = 128;
/// Target cost of a tile in nanoseconds, at the type's speed and 20 bytes of weights per
/// nanosecond; up to GemmType::longest_tile if a node has more than kManyTiles.
constexpr std::int64_t kTileNanoseconds = 50000, kManyTiles = 8, kWeightBytes = 20;

/// Fewest columns of a tile of one row, whose panels are multiplied together.
constexpr std::int64_t kRowColumns = 64;

}  // namespace

MatMulCut cut_matmul(std::int64_t rows, const PackedMatrix& b, const Machine& machine) {
  const GemmType& type = *b.type;
  const std::int64_t block = fitting_rows(machine.packed_product_rows(), b.depth);
  const std::int64_t filled = std::min(rows, block);
  MatMulCut cut;
  cut.row_blocks = tile_count(rows, block);
  // Rounding to the granule may add some rows of the next block.
  cut.most_rows = std::min(rows, block + kBlockRowGranule);
  const std::int64_t panel_steps = b.steps() * static_cast<std::int64_t>(b.widths.panel);
  const std::int64_t panel_cost =
      std::max({panel_steps * type.packed_bytes / kWeightBytes,
                panel_steps * type.elements / type.speed * filled, std::int64_t{1}});
  const std::int64_t panels = cut.row_blocks * b.panels();
  const double cost = static_cast<double>(panel_cost) * static_cast<double>(panels);
  const auto tile_cost = static_cast<std::int64_t>(std::clamp<double>(
      cost / kManyTiles, kTileNanoseconds, static_cast<double>(type.longest_tile)));
  // If tiles convert their rows, a small node is not cut into smaller ones: in bf16 they took 1.05
  // to 1.09 of the time of 1 to 65 rows of 384 by 384 on one Zen 4 core.
  const std::int64_t tiles =
      type.converts() ? tile_count(panels, std::max<std::int64_t>(tile_cost / panel_cost, 1))
                      : count_tiles(panels, panel_cost, tile_cost);
  cut.panel_groups = std::min(tile_count(tiles, cut.row_blocks), b.panels());
  if (rows == 1 && type.multiply_row != nullptr)
    cut.panel_groups = std::clamp<std::int64_t>(b.columns / kRowColumns, 1, cut.panel_groups);
  cut.depth_blocks =
      tile_count(b.steps(), filled <= kFewRows ? kShortDepth : machine.block_depth());
  return cut;
}

}  // namespace parallax
