// Rows cut into groups that registers hold, for loops that are compiled for each size of a group.
#pragma once

#include <cstddef>

namespace parallax {

/// Rows from `row` to `end` in groups of nearly the same size; `table` has them by rows less one.
template <class Block, std::size_t kMost>
void run_groups(void (*const (&table)[kMost])(const Block&, std::size_t lane, std::size_t row),
                const Block& block, std::size_t lane, std::size_t row, std::size_t end) {
  const std::size_t groups = (end - row + kMost - 1) / kMost;
  for (std::size_t left = groups; left != 0; --left) {
    const std::size_t rows = (end - row + left - 1) / left;
    table[rows - 1](block, lane, row);
    row += rows;
  }
}

}  // namespace parallax
