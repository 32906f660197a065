// How the kernel of an ElementwiseChain cuts its outputs into blocks that stay in a first-level
// cache, and how its inputs, which broadcast to them, lie in a block. Plain values; offsets and
// strides count elements. The chain's maker (chain_maker.cc) makes one cut per kernel, at plan
// time; its tiles read it while they run.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "parallax/tensor.h"

namespace parallax {

/// An input in a block of `rows` rows of `columns` elements. An input keeps its form in all blocks,
/// so that steps are chosen once. kDense and kSingle are read where they lie; the others are copied
/// to a slot first (chain_spread.h).
enum class BlockInput : std::uint8_t {
  kDense,   ///< the block's elements, one after the other
  kSingle,  ///< one element
  kRow,     ///< one row, the same for all
  kColumn,  ///< one element for each row
  kRows,    ///< rows that lie apart
};

/// A block: whole rows of the output, or a piece of one. They lie one after the other.
struct ChainBlock {
  std::int64_t begin = 0;  ///< index in the output of the block's first element
  /// Size in elements. Either `columns` is a whole row of the output, or `rows` is 1.
  std::int64_t rows = 1, columns = 0;

  /// Number of the block's elements, which are contiguous in the output from `begin` on.
  std::int64_t elements() const { return rows * columns; }
};

/// The cut of one chain's output into blocks. Immutable, so thread-safe. A block's index is in
/// [0, count()); blocks are numbered in the order of their elements.
class ChainBlocks {
 public:
  /// Cuts `output` into blocks of at most about `most` elements. If a row is longer than `most`, or
  /// the only one, it is cut into pieces that begin at multiples of 64 elements, so that a block
  /// may have up to 63 more; otherwise blocks have as many whole rows as fit. Dimensions are
  /// copied. REQUIRES: `output` has elements; each of `inputs` broadcasts to it or has one element.
  ChainBlocks(const Dims& output, std::span<const Dims> inputs, std::int64_t most);

  /// Number of blocks, at least 1. Tiles of the kernel are ranges of them.
  std::int64_t count() const { return count_; }
  /// Elements of the largest block, which the first is. Slots of the scratch have room for as many.
  std::int64_t elements() const { return rows_ * columns_; }
  /// Elements of the last block. Every block has either elements() or last_elements() elements. It
  /// equals elements() if the cut leaves no remainder.
  std::int64_t last_elements() const;
  /// Form that input i has in every block.
  BlockInput input(std::size_t i) const { return kinds_[i]; }
  /// Elements of input i from one row of a block to the next; 0 if all rows read the same.
  std::int64_t row_stride(std::size_t i) const { return strides_[i][row_axis_]; }

  /// Returns the place and size of a block. REQUIRES: 0 <= index < count().
  ChainBlock block(std::int64_t index) const;
  /// Offset, in elements of input i, of the element that the block reads first. REQUIRES: `block`
  /// is one of this cut.
  std::int64_t offset(std::size_t i, const ChainBlock& block) const;

 private:
  /// Sizes or strides of merged axes, outermost first; two more than Dims, for a row and its rows.
  using Axes = std::array<std::int64_t, Dims::kMaxRank + 2>;
  /// Sets dims_, strides_ and row_axis_ from the strides of each input along the output's axes.
  void merge(const Dims& output, const std::vector<Axes>& strides);
  /// Derives input(i) from the strides along and across rows. REQUIRES: rows_ and columns_ are set.
  BlockInput kind_of(std::size_t i) const;

  Axes dims_{};  ///< output dimensions; axes that are contiguous for every input are merged
  std::vector<Axes> strides_;            ///< per input, a stride for each merged axis; 0: broadcast
  std::size_t row_axis_ = 0;             ///< index of the last axis but one: rows lie along it
  std::int64_t rows_ = 1, columns_ = 1;  ///< size of the largest block
  /// Blocks below each other in a plane of rows, blocks next to each other in a row, blocks in all.
  std::int64_t row_blocks_ = 1, pieces_ = 1, count_ = 0;
  std::vector<BlockInput> kinds_;  ///< form of each input in blocks
  /// How offset() finds an input's element: at the output's index, always at 0, or by strides.
  enum class Walk : std::uint8_t { kAlong, kStays, kStrides };
  std::vector<Walk> walks_;  ///< lets offset() avoid divisions for most inputs
};

}  // namespace parallax
