// Copies the pixels that outputs of a convolution read into the rows of a matrix, for the
// instruction set of this machine. Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace parallax {

/// Most rows of a filter; convolutions with more are left to other kernels.
inline constexpr std::size_t kMaxFilterRows = 16;

/// Output pixels that follow each other in one row. Each makes one row of the matrix: for each of
/// the image rows below, `taps` pixels side by side; zeros outside the image. A row of the matrix
/// has row_count * taps * channels elements, those of a pixel together.
struct ColumnSegment {
  /// First pixels of image rows; null: zeros. Pixels are `channels` elements apart.
  std::array<const float*, kMaxFilterRows> rows{};
  /// Rows of the filter, at most kMaxFilterRows; floats of a pixel.
  std::size_t row_count = 0;
  std::size_t channels = 0;
  std::int64_t width = 0;  ///< pixels of an image row
  std::int64_t first = 0;  ///< the leftmost pixel that the first output reads; may be outside
  std::int64_t step = 1;   ///< pixels from one output to the next
  /// Pixels that an output reads of a row; number of outputs.
  std::int64_t taps = 0;
  std::size_t outputs = 0;
  std::size_t stride = 0;  ///< elements from one row of the matrix to the next
};
/// Writes the rows of the matrix. May write kColumnSlack elements past the end of a row. `to` and
/// `rows` need the alignment of a float only, and must not overlap. REQUIRES: taps are adjacent
/// (dilation 1 along rows).
void write_columns(const ColumnSegment& segment, float* to);
/// Floats; at least a vector of any target. Scratch has room for them after the last row.
inline constexpr std::size_t kColumnSlack = 64;

}  // namespace parallax
