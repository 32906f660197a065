// The pixels that a tile of a planar convolution reads, as they lie in scratch. If outputs are s
// pixels apart, a plane is split into s x s planes of every s-th pixel, so that one step from an
// output to the next is one element, whatever the tap; each tap has its own offset.
// Thread-safety: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/convolution_shape.h"
#include "kernels/cpu/convolution/planar_loops.h"

namespace parallax {

/// The taps along one axis. Those whose distance is a multiple of the stride share a part of the
/// plane, unless each has one of its own.
struct PlanarTaps {
  std::vector<std::int64_t> begins;  ///< offset of each part: pixels after the first tap
  std::vector<std::int64_t> part;    ///< part that each tap reads
  std::vector<std::int64_t> step;    ///< offset of each tap in its part, in outputs

  /// `apart` gives each tap a part of its own: for taps that are far from each other, and for exact
  /// windows.
  PlanarTaps(std::int64_t taps, std::int64_t dilation, std::int64_t stride, bool apart);
  std::int64_t parts() const { return static_cast<std::int64_t>(begins.size()); }
  /// Outputs by which the last tap is behind the first one of its part.
  std::int64_t most_steps() const { return step.back(); }
};

/// Output pixels of one image and plane. `plane` is the index along the axis before rows, 0 in two
/// dimensions; ranges exclude their ends.
struct PlanarOutputs {
  std::int64_t image = 0, plane = 0;
  std::int64_t row_begin = 0, row_end = 0, column_begin = 0, column_end = 0;
};

/// Immutable after set_outputs(), so tiles share one. Elements are f32.
class PlanarWindow {
 public:
  /// Lays out windows for `shape`. `exact`: no output reads elements between rows, at the price of
  /// a copy for each kernel column.
  PlanarWindow(const ConvolutionShape& shape, bool exact);
  /// Sets the largest tile: `rows` times `columns` outputs. If `columns` is that of the whole
  /// output, rows are not cut, and neighbouring rows share the zeros between them.
  void set_outputs(std::int64_t rows, std::int64_t columns);
  /// Returns the elements of scratch that `channels` channels need for `rows` times `columns`
  /// outputs. A double, as the product may exceed 63 bits; callers compare it with limits.
  double elements(std::int64_t channels, std::int64_t rows, std::int64_t columns) const;

  /// Returns the elements from the inputs of an output to those of the one below.
  std::int64_t pitch() const { return pitch_; }
  /// Returns the elements from one channel to the next: an odd number of cache lines, so that
  /// channels begin in different sets of a cache.
  std::int64_t channel_stride() const { return channel_stride_; }
  /// Writes the taps that some of `outputs` find inside the image, of planes, rows, columns.
  /// Returns how many. `to` has room for all taps of a filter.
  std::int64_t list_taps(const PlanarOutputs& outputs, PlanarTap* to) const;
  /// Returns the bytes of offsets and taps, for Kernel::table_bytes().
  std::int64_t table_bytes() const;
  /// Copies `count` channels from `channel` on. May overwrite kPlanarSlack elements after the end.
  /// `images` is the whole input of the node, [batch, channels, planes, rows, columns]; `to` has
  /// count * channel_stride() elements. Planes outside the image are left unspecified: list_taps()
  /// leaves out their taps.
  void copy(const PlanarOutputs& outputs, std::int64_t channel, std::int64_t count,
            const float* images, float* to) const;

 private:
  /// Copies `count` column parts of one row part of a plane, whose pixel 0 is at `plane`.
  void copy_parts(const PlanarOutputs& outputs, std::int64_t row_part, std::int64_t column_part,
                  std::int64_t count, const float* plane, std::int64_t ahead, float* to) const;
  std::int64_t zeros_shared() const;

  ConvolutionShape shape_;
  PlanarTaps rows_, columns_;
  /// See pitch(); zeros that two rows share; elements of a part of a plane; see channel_stride().
  std::int64_t pitch_ = 0, shared_ = 0, part_elements_ = 0, channel_stride_ = 0;
  /// Offset of each tap in a channel, in elements; set by set_outputs().
  std::vector<std::ptrdiff_t> offsets_;
};

}  // namespace parallax
