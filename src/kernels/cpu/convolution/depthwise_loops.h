// A row of a depthwise convolution, NHWC, for the instruction set of this machine. Thread-safe.
#pragma once

#include <cstddef>

namespace parallax {

/// Output pixels that follow each other in one row. Taps outside the image are left out.
struct DepthwiseRow {
  std::size_t row_count = 0;  ///< rows of the filter that are inside the image
  /// Pixel 0 of the first of them and its weights, [taps, channels]; and elements from one row to
  /// the next.
  const float *x = nullptr, *weights = nullptr;
  std::size_t row_step = 0, weights_step = 0;
  std::size_t taps = 0, channels = 0, columns = 0;
  /// In pixels: position of tap 0 of the first output, which may be outside; length of a row of the
  /// image; distance of neighbouring outputs; distance of neighbouring taps.
  std::ptrdiff_t first = 0, width = 0, stride = 1, dilation = 1;
  const float* bias = nullptr;
  bool relu = false;
  float* out = nullptr;
};
/// Computes the outputs of a row. REQUIRES: channels >= depthwise_fewest_channels().
void depthwise_row(const DepthwiseRow& row);
std::size_t depthwise_fewest_channels();

}  // namespace parallax
