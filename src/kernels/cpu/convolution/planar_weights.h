// The filters of a planar convolution as its products read them. Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/convolution_shape.h"

namespace parallax {

/// The weights of each group in blocks of channels, each in panels of filters: [channel, tap,
/// filter].
struct PlanarWeights {
  /// Number of groups, then sizes of one group.
  std::int64_t groups = 1, filters = 0, channels = 0, taps = 0;
  /// Filters of a panel are multiples of it, padded with zeros. 1 if vectors hold outputs, else the
  /// length of a vector.
  std::int64_t unit = 1;
  std::int64_t units = 0;  ///< units of all panels of a group
  /// Blocks of channels, whose products with the taps are at most 1152 per sum, and panels of
  /// filters, of one group. Panels have at most kPlanarRows filters, or PlanarWidths::run.
  std::int64_t blocks = 1, panels = 1;
  /// f32; null until they are packed, then shared with other kernels.
  std::shared_ptr<const AlignedBytes> bytes;

  /// `by_pixels`: vectors hold filters (filters_in_vectors()). Sets all sizes; packs nothing.
  PlanarWeights(const ConvolutionShape& s, bool by_pixels);
  /// Returns the channels of block `b`.
  TileRange block(std::int64_t b) const { return tile_range(channels, blocks, b); }
  /// Returns the filters of a panel, padding included.
  TileRange panel(std::int64_t p) const {
    const TileRange range = tile_range(units, panels, p);
    return {range.begin * unit, range.end * unit};
  }
  /// Returns the offset of a panel of a block of a group, in elements.
  std::int64_t offset(std::int64_t group, std::int64_t b, std::int64_t p) const {
    const TileRange range = block(b);
    return (group * channels + range.begin) * units * unit * taps +
           panel(p).begin * (range.end - range.begin) * taps;
  }
  /// Returns the elements of all groups, padding included.
  std::int64_t elements() const { return groups * channels * taps * units * unit; }
};

/// Fills `to`, of `weights.elements()`, with the filters of `source`, [filter, channel, taps].
/// `source` is f32 at any alignment; missing filters of the last unit become zeros.
void pack_planar(const PlanarWeights& weights, const std::byte* source, std::byte* to);
/// Returns true if vectors hold filters, false if they hold outputs. Filters are chosen if they
/// fill vectors, and if sums are long enough to pay for transposing the results. That is at least
/// 7/8 of the lanes, and 64 products per sum.
bool filters_in_vectors(const ConvolutionShape& shape);

}  // namespace parallax
