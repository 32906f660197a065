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
/// the image rows below, `taps` pixels side by side; zeros outside the image.
struct ColumnSegment {
  std::array<const float*, kMaxFilterRows> rows{};  ///< first pixels of image rows; null: zeros
  std::size_t row_count = 0;
  std::size_t channels = 0;
  std::int64_t width = 0;  ///< pixels of an image row
  std::int64_t first = 0;  ///< the leftmost pixel that the first output reads; may be outside
  std::int64_t step = 1;   ///< pixels from one output to the next
  std::int64_t taps = 0;
  std::size_t outputs = 0;
  std::size_t stride = 0;  ///< elements from one row of the matrix to the next
};
/// Writes the rows of the matrix. May write kColumnSlack elements past the end of a row.
void write_columns(const ColumnSegment& segment, float* to);
inline constexpr std::size_t kColumnSlack = 64;

}  // namespace parallax
