// A row of a depthwise convolution, NHWC, for the instruction set of this machine. Thread-safe.
#pragma once

#include <cstddef>

#include "kernels/cpu/bounds.h"

namespace parallax {

/// Output pixels that follow each other in one row. Taps outside the image are left out. Every sum
/// goes over rows, then taps in ascending order, so bits do not depend on how rows are cut into
/// tiles. Addresses need the alignment of a float only.
struct DepthwiseRow {
  std::size_t row_count = 0;  ///< rows of the filter that are inside the image
  /// Pixel 0 of the first of them and its weights, [taps, channels]; and elements from one row to
  /// the next.
  const float *x = nullptr, *weights = nullptr;
  std::size_t row_step = 0, weights_step = 0;
  /// Taps of a row of the filter; channels, which are computed a vector at a time; output pixels.
  std::size_t taps = 0, channels = 0, columns = 0;
  /// In pixels: position of tap 0 of the first output, which may be outside; length of a row of the
  /// image; distance of neighbouring outputs; distance of neighbouring taps.
  std::ptrdiff_t first = 0, width = 0, stride = 1, dilation = 1;
  /// [channels], or null.
  const float* bias = nullptr;
  /// Limits of results; other activations are applied by the caller.
  Bounds bounds;
  /// [columns, channels], dense.
  float* out = nullptr;
};
/// Computes the outputs of a row. REQUIRES: channels >= depthwise_fewest_channels().
void depthwise_row(const DepthwiseRow& row);
/// Returns the fewest channels for which a row can be computed on this machine: half a vector.
std::size_t depthwise_fewest_channels();

}  // namespace parallax
