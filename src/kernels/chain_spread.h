// Copies the elements that a block reads of an input that broadcasts, repeating them so that steps
// find one for each element of the block. Pure functions.
#pragma once

#include <cstddef>

#include "kernels/chain_blocks.h"

namespace parallax {

/// Fills `to` with block.elements() elements of `size` bytes each, of an input that is kRow,
/// kColumn or kRows. `from` is its first element in the block, `row_stride` counts elements from
/// row to row. `to` has room for block.elements() * size bytes. For kRow, `row_stride` is not read:
/// the row is copied once and doubled. REQUIRES: size is 1, 2, 4 or 8; both addresses are aligned
/// to it; the memories do not overlap.
void spread(BlockInput kind, const std::byte* from, std::int64_t row_stride, std::int64_t size,
            const ChainBlock& block, std::byte* to);

}  // namespace parallax
