// The machine as kernels of this folder see it: the sizes of its caches, which are detected, and
// the thresholds that tiles are cut by. Thresholds of a cache are fractions of its size, those of
// work are constants. The length of vectors is no threshold: functions next to the loops return it,
// e.g. matmul_widths().
//
// Figures are those of one core of a Zen 4 with AVX-512: 32 KiB and 1 MiB of cache, 57 G
// multiply-accumulates a second. On a machine with other caches parts are as large in proportion;
// that was not measured. Sums are cut by some of them: outputs have the same bits on machines with
// the same instruction set and caches. Packed weights depend on none, so a cache file is
// valid on every machine with its instruction set.
//
// Thread-safety: plain values.
#pragma once

#include <cstdint>

#include "base/machine/cpu_caches.h"

namespace parallax {

/// Bytes of a float.
inline constexpr std::int64_t kFloatBytes = sizeof(float);
/// Floats of a cache line.
inline constexpr std::int64_t kLineFloats = 16;

/// Thresholds that follow from caches, in floats unless said.
class Machine {
 public:
  /// Reads sizes from `caches`. A first-level cache counts as 16 to 128 KiB, a second-level one as
  /// 128 KiB to 4 MiB: scratch of tiles grows with them.
  explicit Machine(const CpuCaches& caches);

  // In the first-level cache.
  /// Weights that all rows of a tile are multiplied with before other weights are. A row of the
  /// image also fits.
  std::int64_t near_weights() const { return l1_ * 3 / 4; }
  /// A panel of a right operand that is read in place: then only the first rows fetch it into the
  /// cache. A larger one is copied.
  std::int64_t near_panel() const { return l1_ / 2; }
  /// Scores of a block of queries in lanes. Whisper's heads, 1500 x 1500 x 64, need 34.1 ms with 96
  /// keys for 64 queries, 34.4 with 64, 34.3 with 144.
  std::int64_t near_scores() const { return l1_ * 3 / 4; }
  /// Addresses that are a multiple of this apart map to the same set of the cache.
  std::int64_t set_distance() const { return l1_way_; }

  // In the second-level cache.
  /// Weights that stay from tile to tile: nothing fetches them ahead, and tiles may be small.
  std::int64_t kept_weights() const { return l2_ / 4; }
  /// Pixels that a tile of a convolution reads.
  std::int64_t window() const { return l2_ * 3 / 16; }
  /// Largest window() if a few outputs already read more than that: with still fewer outputs,
  /// weights are read too often.
  std::int64_t most_window() const { return l2_ * 3 / 4; }
  /// Results that a tile of a convolution of planes writes.
  std::int64_t results() const { return l2_ / 4; }
  /// Pixels that a tile turns to channels last.
  std::int64_t turned_window() const { return l2_ / 4; }
  /// Copied columns that are multiplied in one step.
  std::int64_t columns() const { return l2_ * 9 / 64; }
  /// Winograd's transformed inputs and products of a tile; weights stream by.
  std::int64_t winograd_squares() const { return l2_ * 11 / 16; }
  /// Rows of a block of a right operand of 64 columns: there is room for two blocks, and for rows
  /// of the left one.
  std::int64_t block_depth() const { return l2_ * 3 / 16 / 64; }
  /// Rows of a left operand that are multiplied in one step, if the right one is packed, and if it
  /// is copied while the product is computed.
  std::int64_t packed_product_rows() const { return l2_ * 3 / 8; }
  std::int64_t copied_product_rows() const { return l2_ / 4; }
  /// Scores of a block of queries and a block of keys.
  std::int64_t scores() const { return l2_ * 9 / 64; }
  /// Scores of queries of a window and all its keys.
  std::int64_t window_scores() const { return l2_ / 8; }
  /// Elements of the keys and values of a head, rounded to bf16: all of the cache.
  std::int64_t rounded_head() const { return l2_ * 2; }

 private:
  std::int64_t l1_, l1_way_, l2_;  ///< floats
};

/// Returns the machine that this process runs on; detected once, thread-safe.
const Machine& this_machine();
/// Returns the length of its kernels' vectors in bytes, for reports.
std::int64_t vector_bytes();

// Work of a tile: some 20 to 100 microseconds. Offering it to another thread costs half of one.

/// Elements of a tile, if each costs a load, a store and a few instructions.
inline constexpr std::int64_t kTileElements = std::int64_t{1} << 16;
/// Elements of a tile, if each needs exp, erf or the like.
inline constexpr std::int64_t kTileCostlyElements = std::int64_t{1} << 15;
/// Tiles begin at multiples of this number of elements if possible, so that they share no cache
/// line.
inline constexpr std::int64_t kTileGranule = 4 * kLineFloats;
/// Most tiles of a node that has too little work for this number of tiles of the usual size: YuNet
/// needs 0.59 of the time on two cores that it needs without (docs/decisions/kernels-and-tiles.md).
inline constexpr std::int64_t kSmallNodeTiles = 8;

// Multiply-accumulates of a tile.

/// 30 microseconds: depthwise filters, and filters of one tap on planes, which read an element of
/// the image for every filter.
inline constexpr std::int64_t kDepthwiseTileMacs = 1000000, kPlaneTileMacs = 1000000;
/// 40 microseconds: a product that is made of small ones.
inline constexpr std::int64_t kBlockTileMacs = std::int64_t{2} << 20;
/// 50 microseconds at least: windows and copied columns; groups of few filters.
inline constexpr std::int64_t kMinTileMacs = 2000000, kSmallGroupTileMacs = 2000000;
/// Most, if further groups of panels cause no copies, and if each group copies columns again.
inline constexpr std::int64_t kMaxTileMacs = 4000000, kMaxCopyingTileMacs = 12000000;
/// 60 microseconds: Winograd in two axes. Along one, transforms are a larger share: Whisper's
/// second convolution takes 9.96 instead of 10.5 ms, the first 1 % less.
inline constexpr std::int64_t kWinogradTileMacs = 3000000, kWinogradLineTileMacs = 12000000;
/// Depthwise filters on transposed pixels: with fewer, rows that two tiles transpose cost a
/// twentieth.
inline constexpr std::int64_t kTurnedTileMacs = 4000000;
/// Convolutions of planes; with three axes each plane of the filter copies an image: 64x8x28x28
/// needs 0.96 of the time that it needs with as few as in two. At most, if filters are cut: each
/// part copies again.
inline constexpr std::int64_t kPlanarTileMacs = 4000000, kVolumeTileMacs = 24000000,
                              kMaxPlanarTileMacs = 16000000;

}  // namespace parallax
