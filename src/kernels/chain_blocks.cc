#include "kernels/chain_blocks.h"

#include <algorithm>

namespace parallax {
namespace {

/// Pieces of a row begin at multiples of this.
constexpr std::int64_t kPieceGranule = 64;

std::int64_t parts_of(std::int64_t whole, std::int64_t part) {
  return whole / part + (whole % part != 0 ? 1 : 0);
}

}  // namespace

ChainBlocks::ChainBlocks(const Dims& output, std::span<const Dims> inputs, std::int64_t most) {
  std::vector<Axes> strides(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].elements() == 1) continue;
    std::int64_t stride = 1;
    const int missing = output.rank() - inputs[i].rank();
    for (int d = inputs[i].rank() - 1; d >= 0; --d) {
      if (inputs[i][d] != 1) strides[i][static_cast<std::size_t>(d + missing)] = stride;
      stride *= inputs[i][d];
    }
  }
  merge(output, strides);
  const std::int64_t row = dims_[row_axis_ + 1], high = dims_[row_axis_];
  if (row >= most || high == 1) {
    const std::int64_t piece = parts_of(row, parts_of(row, most));
    columns_ = std::min(row, parts_of(piece, kPieceGranule) * kPieceGranule);
  } else {
    columns_ = row;
    rows_ = std::min(high, most / row);
  }
  row_blocks_ = parts_of(high, rows_);
  pieces_ = parts_of(row, columns_);
  count_ = row_blocks_ * pieces_;
  for (std::size_t d = 0; d < row_axis_; ++d) count_ *= dims_[d];
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    kinds_.push_back(kind_of(i));
    walks_.push_back(inputs[i] == output         ? Walk::kAlong
                     : inputs[i].elements() == 1 ? Walk::kStays
                                                 : Walk::kStrides);
  }
}

void ChainBlocks::merge(const Dims& output, const std::vector<Axes>& strides) {
  // There are always at least two axes: one along a row, one across rows.
  std::size_t rank = 2;
  dims_[0] = dims_[1] = 1;
  strides_.resize(strides.size());
  for (std::size_t d = 0; d < static_cast<std::size_t>(output.rank()); ++d) {
    const std::int64_t dim = output[static_cast<int>(d)];
    if (dim == 1) continue;
    bool merges = true;
    for (std::size_t i = 0; i < strides.size(); ++i)
      merges = merges && strides_[i][rank - 1] == strides[i][d] * dim;
    if (!merges || dims_[rank - 1] == 1) {
      if (dims_[rank - 1] != 1) ++rank;
      dims_[rank - 1] = 1;
    }
    dims_[rank - 1] *= dim;
    for (std::size_t i = 0; i < strides.size(); ++i) strides_[i][rank - 1] = strides[i][d];
  }
  row_axis_ = rank - 2;
}

BlockInput ChainBlocks::kind_of(std::size_t i) const {
  const std::int64_t along = strides_[i][row_axis_ + 1], down = strides_[i][row_axis_];
  const bool one_row = rows_ == 1, one_column = columns_ == 1;
  if (one_row) return along == 0 || one_column ? BlockInput::kSingle : BlockInput::kDense;
  if (along == 0 || one_column) {
    if (down == 0) return BlockInput::kSingle;
    return one_column && down == 1 ? BlockInput::kDense : BlockInput::kColumn;
  }
  if (down == 0) return BlockInput::kRow;
  return down == columns_ ? BlockInput::kDense : BlockInput::kRows;
}

std::int64_t ChainBlocks::last_elements() const {
  const std::int64_t rows = dims_[row_axis_] - (row_blocks_ - 1) * rows_;
  const std::int64_t columns = dims_[row_axis_ + 1] - (pieces_ - 1) * columns_;
  return rows * columns;
}

ChainBlock ChainBlocks::block(std::int64_t index) const {
  const std::int64_t piece = index % pieces_;
  index /= pieces_;
  const std::int64_t row = index % row_blocks_ * rows_;
  const std::int64_t plane = index / row_blocks_;
  const std::int64_t height = dims_[row_axis_], width = dims_[row_axis_ + 1];
  return {(plane * height + row) * width + piece * columns_, std::min(rows_, height - row),
          std::min(columns_, width - piece * columns_)};
}

std::int64_t ChainBlocks::offset(std::size_t i, const ChainBlock& block) const {
  if (walks_[i] != Walk::kStrides) return walks_[i] == Walk::kAlong ? block.begin : 0;
  std::int64_t left = block.begin, offset = 0;
  for (std::size_t d = row_axis_ + 2; d-- > 0;) {
    offset += left % dims_[d] * strides_[i][d];
    left /= dims_[d];
  }
  return offset;
}

}  // namespace parallax
