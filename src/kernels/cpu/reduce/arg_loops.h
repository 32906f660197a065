// The index of the largest or smallest f32, for the instruction set of this machine. Thread-safe.
// The last vector is masked. Indices do not depend on the instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// The element that is searched for: the largest unless `smallest`, and of equal ones the first
/// unless `last`. NaN is preferred to every number. ArgMin sets `smallest`, and the attribute
/// select_last_index sets `last`.
struct ArgSearch {
  bool smallest = false;
  bool last = false;
};

/// Writes the index of that element in row r to y[r], for `rows` dense rows of `n` > 0 elements. x
/// needs the alignment of a float only.
void arg_rows(ArgSearch search, const float* x, std::int64_t* y, std::size_t rows, std::size_t n);
/// Writes its index in column c to y[c]; the `n` > 0 elements lie `stride` elements apart. A vector
/// of columns is searched together; elements of a column are visited once. REQUIRES: n < 2^31,
/// stride >= columns.
void arg_columns(ArgSearch search, const float* x, std::int64_t* y, std::size_t columns,
                 std::size_t n, std::size_t stride);

}  // namespace parallax
