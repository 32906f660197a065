// A row of a depthwise convolution, NHWC, for the instruction set of this machine. Thread-safe.
#pragma once

#include <cstddef>

namespace parallax {

/// Output pixels that follow each other in one row, all of whose taps are inside the image.
struct DepthwiseRow {
  std::size_t row_count = 0;  ///< rows of the filter that are inside the image
  /// Where tap 0 of the first output stands in the first of them, and its weights, [taps, channels];
  /// and elements from one row of the filter to the next.
  const float *x = nullptr, *weights = nullptr;
  std::size_t row_step = 0, weights_step = 0;
  std::size_t taps = 0, channels = 0, columns = 0;
  std::size_t step = 0;      ///< elements from the taps of one output to those of the next
  std::size_t tap_step = 0;  ///< elements from one tap to the next
  const float* bias = nullptr;
  bool relu = false;
  float* out = nullptr;
};
/// REQUIRES: channels >= depthwise_fewest_channels().
void depthwise_row(const DepthwiseRow& row);
std::size_t depthwise_fewest_channels();

}  // namespace parallax
