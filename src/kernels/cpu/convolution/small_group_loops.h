// A row of a convolution of small groups, NHWC, for the instruction set of this machine: a vector
// holds filters of one or several groups. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/bounds.h"

namespace parallax {

/// Taps that are multiplied with the same inputs.
inline constexpr std::int64_t kSmallGroupTaps = 3;

/// Output pixels that follow each other in one row, of the filters of one vector. Taps outside the
/// image are left out. Addresses need the alignment of a float only; each lane sums its own filter.
struct SmallGroupRow {
  std::size_t row_count = 0;  ///< rows of the filter that are inside the image
  /// `x`: first channel that is read of pixel 0 of the first of these rows. `weights`: those of
  /// that row, [depth, kSmallGroupTaps, vector] for each group of kSmallGroupTaps adjacent taps,
  /// [depth, vector] for each other tap. The steps are elements from one row to the next.
  const float *x = nullptr, *weights = nullptr;
  std::size_t row_step = 0, weights_step = 0;
  std::size_t depth = 0;  ///< channels of a group
  /// Taps of a row; those of them in groups of adjacent taps, a multiple of kSmallGroupTaps, 0
  /// unless outputs are adjacent as well.
  std::size_t taps = 0, side_taps = 0;
  std::size_t channels = 0;  ///< elements from one pixel of the image to the next
  std::size_t columns = 0;
  /// In pixels: position of tap 0 of the first output, which may be outside; length of a row of the
  /// image; distance of neighbouring outputs; distance of neighbouring taps.
  std::ptrdiff_t first = 0, width = 0, stride = 1, dilation = 1;
  /// First channel of each lane's group, relative to x + `shift`; null if all lanes have one group,
  /// which begins at x.
  const std::int32_t* lanes = nullptr;
  std::int32_t shift = 0;
  const float* bias = nullptr;  ///< [filters], or null
  Bounds bounds;
  float* out = nullptr;
  std::size_t out_step = 0, filters = 0;  ///< elements to the next output; lanes that are stored
};
/// Computes the outputs of a row. REQUIRES: with `lanes`, a whole vector can be read from each
/// pixel of `x`, and holds all channels of the groups of the lanes that are stored.
void small_group_row(const SmallGroupRow& row);
/// Returns the filters that a vector holds on this machine.
std::size_t small_group_lanes();

}  // namespace parallax
