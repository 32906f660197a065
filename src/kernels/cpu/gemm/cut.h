// How products are cut into tiles for threads, and tiles into blocks that caches hold. Depends only
// on shape, type and machine. Pure functions. Units are rows, columns, and elements of depth.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/gemm/packed_matrix.h"
#include "kernels/cpu/machine.h"

namespace parallax {

/// Blocks of rows begin at multiples of this number of rows, which inner loops process together. On
/// every target a group of a full panel has six rows (rows_for()).
inline constexpr std::int64_t kBlockRowGranule = 6;
/// Rows of a block: few would copy the right matrix too often, many would not stay in the cache.
inline constexpr std::int64_t kMaxBlockRows = 144, kFewestBlockRows = 24;
/// Returns the rows of `depth` elements that a block of `elements` holds, in whole granules. The
/// result is at least `fewest`, even if these do not fit. REQUIRES: depth > 0.
inline std::int64_t fitting_rows(std::int64_t elements, std::int64_t depth,
                                 std::int64_t fewest = kFewestBlockRows) {
  return std::clamp(elements / depth / kBlockRowGranule * kBlockRowGranule, fewest, kMaxBlockRows);
}

/// Tiles of a product with a packed matrix: blocks of rows, which begin at multiples of
/// kBlockRowGranule, times groups of panels.
struct MatMulCut {
  /// Blocks of rows, groups of panels; a tile is one of each.
  std::int64_t row_blocks = 0, panel_groups = 0;
  std::int64_t most_rows = 0;     ///< rows of the largest block
  std::int64_t depth_blocks = 0;  ///< MatMulRows::depth_blocks

  std::int64_t tiles() const { return row_blocks * panel_groups; }
};
/// Cuts the product of `rows` rows with b into tiles. A tile lasts about 50 microseconds at
/// GemmType::speed and 20 bytes of weights in a nanosecond; longer, up to GemmType::longest_tile,
/// if there are more than 8. REQUIRES: b has depth and columns.
MatMulCut cut_matmul(std::int64_t rows, const PackedMatrix& b, const Machine& machine);

}  // namespace parallax
