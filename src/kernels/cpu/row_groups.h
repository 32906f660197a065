// Cuts rows into groups that registers hold, for loops that are compiled once for each size of a
// group, so that sums stay in registers. Thread-safe if the functions of the table are.
#pragma once

#include <cstddef>

namespace parallax {

/// Calls functions of `table` for rows [row, end) in order, in as few groups of at most kMax rows
/// as possible, whose sizes differ by at most one. table[n - 1] processes n rows from `row` on, for
/// the queries from `lane` on; `block` is passed through. Groups of nearly the same size keep a
/// last short one from wasting registers. `lane` is passed on as well. REQUIRES: row <= end.
template <class Block, std::size_t kMax>
void run_groups(void (*const (&table)[kMax])(const Block&, std::size_t lane, std::size_t row),
                const Block& block, std::size_t lane, std::size_t row, std::size_t end) {
  const std::size_t groups = (end - row + kMax - 1) / kMax;
  for (std::size_t left = groups; left != 0; --left) {
    const std::size_t rows = (end - row + left - 1) / left;
    table[rows - 1](block, lane, row);
    row += rows;
  }
}

}  // namespace parallax
