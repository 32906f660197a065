// The index of the largest or smallest f32, for the instruction set of this machine. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// Which element is looked for: of equal ones the first or the last. NaN comes before all.
struct ArgSearch {
  bool smallest = false;
  bool last = false;
};

/// y[r] = the place in row r, for `rows` rows of `n` > 0 elements.
void arg_rows(ArgSearch search, const float* x, std::int64_t* y, std::size_t rows, std::size_t n);
/// y[c] = the place in column c, whose `n` > 0 elements lie `stride` elements apart.
void arg_columns(ArgSearch search, const float* x, std::int64_t* y, std::size_t columns,
                 std::size_t n, std::size_t stride);

}  // namespace parallax
