// Copies what a block reads of an input that broadcasts, so that steps find an element for each of
// theirs. Pure functions.
#pragma once

#include <cstddef>

#include "kernels/chain_blocks.h"

namespace parallax {

/// Fills `to` with the elements, of `size` bytes each, of a block of an input that is kRow, kColumn
/// or kRows; `from` is the first. REQUIRES: size is 1, 2, 4 or 8.
void spread(BlockInput kind, const std::byte* from, std::int64_t row_stride, std::int64_t size,
            const ChainBlock& block, std::byte* to);

}  // namespace parallax
