// Loops over a dense output and inputs with other layouts: broadcast, transposed, sliced.
// Neighbouring dimensions that form one dimension in every tensor are merged, so that the innermost
// runs are as long as possible. Offsets and strides count elements. Thread-safety: plain values.
// Kernels make one at plan time, copy it into the kernel and pass ranges of elements per tile.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "parallax/tensor.h"

namespace parallax {

/// The merged dimensions of an output, and the strides of up to kMaxInputs inputs along them. Tiles
/// of a kernel share one loop and each visits its own range of the output.
class StridedLoop {
 public:
  /// The operator Where has as many.
  static constexpr int kMaxInputs = 3;
  /// More than a tensor's rank: callers may split an axis into two dimensions.
  static constexpr int kMaxRank = 2 * Dims::kMaxRank;
  /// One number for each input; entries of missing inputs are 0.
  using Offsets = std::array<std::int64_t, kMaxInputs>;

  /// Loops over `dims`, outermost first; input i moves by strides[d][i] along dimension d and
  /// begins at start[i]. Strides may be 0 or negative. REQUIRES: at most kMaxRank dimensions, as
  /// many strides.
  StridedLoop(std::span<const std::int64_t> dims, std::span<const Offsets> strides,
              Offsets start = {});

  /// Returns the elements of the output, the product of all dimensions.
  std::int64_t elements() const { return elements_; }
  /// Returns the number of merged dimensions, at least 2.
  int rank() const { return rank_; }
  /// Size of a merged dimension, counted from the outermost, and the inputs' strides along it.
  /// REQUIRES: 0 <= d < rank().
  std::int64_t dim(int d) const { return dims_[static_cast<std::size_t>(d)]; }
  const Offsets& strides(int d) const { return strides_[static_cast<std::size_t>(d)]; }
  /// Returns strides from one innermost row to the next, and those along a row.
  const Offsets& row_strides() const { return strides(rank_ - 2); }
  const Offsets& column_strides() const { return strides(rank_ - 1); }
  /// Returns the elements of an innermost row.
  std::int64_t columns() const { return dim(rank_ - 1); }

  /// Calls body(output offset, input offsets, rows, columns) for blocks that cover the output
  /// elements [begin, end) in order. A block is a part of one row, or several whole rows of the
  /// innermost two dimensions; inputs move by row_strides() and column_strides() inside it. The
  /// output offset is the index of the block's first element, as the output is dense. `body` runs
  /// on the calling thread. REQUIRES: 0 <= begin and end <= elements().
  template <class Body>
  void for_each_block(std::int64_t begin, std::int64_t end, const Body& body) const;

 private:
  /// Index of an innermost row in the outer dimensions, and the offset of its first element.
  struct Position {
    std::array<std::int64_t, kMaxRank> index{};
    Offsets offsets{};
  };
  /// Returns the position of a row, counted in row-major order. Divides once per dimension.
  Position position_of_row(std::int64_t row) const;
  /// Moves on by `rows` rows, at most to the end of the current dimension `rank_ - 2`.
  void advance(Position& at, std::int64_t rows) const;

  /// Merged dimensions, outermost first; entries from rank_ on are 0.
  std::array<std::int64_t, kMaxRank> dims_{};
  /// Strides of the inputs along each of them, in elements.
  std::array<Offsets, kMaxRank> strides_{};
  /// Offset of each input's element that belongs to output element 0.
  Offsets start_{};
  int rank_ = 0;
  std::int64_t elements_ = 1;
};

/// Returns the loop of an operator that broadcasts its inputs to `output`. Axes are aligned at
/// their ends, as numpy does. REQUIRES: the inputs, at most kMaxInputs, broadcast to it.
StridedLoop broadcast_loop(const Dims& output, std::span<const Dims> inputs);

/// Returns the row-major strides of a dense tensor, in elements; 0 from its rank on.
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
