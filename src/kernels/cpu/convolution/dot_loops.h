// A row of a convolution with few filters, NHWC, for the instruction set of this machine: vectors
// lie along channels, and each output is a dot product, since a vector of filters would be mostly
// empty. Thread-safe.
#pragma once

#include <cstddef>

namespace parallax {

/// Most filters of a row.
inline constexpr std::size_t kMostDotFilters = 4;

/// Output pixels that follow each other in one row, whose windows have the same taps on the image.
/// Each lane sums over rows, then along a row, and lanes are added last, so bits depend on nothing
/// but the taps. Addresses need the alignment of a float only.
struct DotRow {
  std::size_t row_count = 0;  ///< rows of the filter that are on the image
  /// The window of the first output, and its weights, [filters, rows, taps, channels].
  const float *x = nullptr, *weights = nullptr;
  std::size_t row_step = 0, weights_step = 0;  ///< elements from one row to the next
  std::size_t filter_step = 0;                 ///< weights from one filter to the next
  std::size_t length = 0;                      ///< elements of a row of the window
  std::size_t filters = 0, columns = 0;        ///< filters: 1 to kMostDotFilters
  std::size_t column_step = 0;                 ///< elements from one window to the next
  const float* bias = nullptr;                 ///< [filters], or null
  float* out = nullptr;                        ///< [columns, filters], dense
};
/// Computes the outputs of a row.
void dot_row(const DotRow& row);
/// Returns the floats of a vector of this machine.
std::size_t dot_lanes();

}  // namespace parallax
