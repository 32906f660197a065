// A dense output walked together with inputs that lie otherwise: broadcast, transposed, sliced.
// Neighbouring dimensions that every tensor walks in one go are merged, so that the innermost runs
// are as long as they can be. Plain values; offsets and strides count elements.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "parallax/tensor.h"

namespace parallax {

class StridedLoop {
 public:
  static constexpr int kMaxInputs = 3;
  static constexpr int kMaxRank = 2 * Dims::kMaxRank;
  using Offsets = std::array<std::int64_t, kMaxInputs>;

  /// Over `dims`, outermost first, where input i moves by strides[d][i] along dimension d and
  /// begins at start[i]. At most kMaxRank dimensions.
  StridedLoop(std::span<const std::int64_t> dims, std::span<const Offsets> strides,
              Offsets start = {});

  std::int64_t elements() const { return elements_; }
  int rank() const { return rank_; }  ///< at least 2
  std::int64_t dim(int d) const { return dims_[static_cast<std::size_t>(d)]; }
  const Offsets& strides(int d) const { return strides_[static_cast<std::size_t>(d)]; }
  /// Strides from one innermost row to the next, and along it.
  const Offsets& row_strides() const { return strides(rank_ - 2); }
  const Offsets& column_strides() const { return strides(rank_ - 1); }
  std::int64_t columns() const { return dim(rank_ - 1); }

  /// Calls body(output offset, input offsets, rows, columns) for blocks that cover the output
  /// elements [begin, end) in order.
  template <class Body>
  void for_each_block(std::int64_t begin, std::int64_t end, const Body& body) const;

 private:
  struct Position {
    std::array<std::int64_t, kMaxRank> index{};
    Offsets offsets{};
  };
  Position position_of_row(std::int64_t row) const;
  /// Moves on by `rows` rows that do not leave the present block of rows.
  void advance(Position& at, std::int64_t rows) const;

  std::array<std::int64_t, kMaxRank> dims_{};
  std::array<Offsets, kMaxRank> strides_{};
  Offsets start_{};
  int rank_ = 0;
  std::int64_t elements_ = 1;
};

/// The loop of an operator that broadcasts its inputs to `output`. REQUIRES: they do broadcast.
StridedLoop broadcast_loop(const Dims& output, std::span<const Dims> inputs);

/// Row-major strides of a dense tensor, in elements.
std::array<std::int64_t, Dims::kMaxRank> dense_strides(const Dims& dims);

template <class Body>
void StridedLoop::for_each_block(std::int64_t begin, std::int64_t end, const Body& body) const {
  if (begin >= end) return;
  const std::int64_t columns = this->columns();
  std::int64_t column = begin % columns;
  Position at = position_of_row(begin / columns);
  while (begin < end) {
    if (column > 0 || end - begin < columns) {
      const std::int64_t length = std::min(columns - column, end - begin);
      Offsets offsets = at.offsets;
      for (std::size_t i = 0; i < kMaxInputs; ++i) offsets[i] += column * column_strides()[i];
      body(begin, offsets, std::int64_t{1}, length);
      begin += length;
      column = 0;
      if (begin < end) advance(at, 1);
      continue;
    }
    const auto row_dim = static_cast<std::size_t>(rank_ - 2);
    const std::int64_t rows = std::min(dims_[row_dim] - at.index[row_dim], (end - begin) / columns);
    body(begin, at.offsets, rows, columns);
    begin += rows * columns;
    if (begin < end) advance(at, rows);
  }
}

}  // namespace parallax
