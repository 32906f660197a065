// Pooling windows over NHWC images, for the instruction set of this machine. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// Windows of rows x columns pixels of `channels` f32 each, for neighbouring pixels of the output;
/// steps count elements.
struct PoolWindows {
  /// First pixel of the first window that lies inside the image: callers leave out padding.
  const float* x = nullptr;
  /// From one row of a window to the next, from one pixel to the next, and from one window to the
  /// next.
  std::ptrdiff_t row_step = 0, column_step = 0, next = 0;
  std::size_t rows = 0, columns = 0;
  std::size_t count = 1;  ///< number of windows
  std::size_t channels = 0;
};
/// Writes the largest element of channel c in window i to y[i * channels + c], NaN if one is NaN.
/// -inf for empty windows. y must not overlap the image.
void pool_max(const PoolWindows& windows, float* y);
/// How elements are counted: the one of channel c in window i, row j and column k is start +
/// c * channel_step + (first + i * next + j * row_step + k * column_step) modulo 2^32.
struct PoolIndices {
  std::uint32_t first = 0, next = 0, row_step = 0, column_step = 0;
  std::int64_t start = 0, channel_step = 0;
};
/// Also writes the index of that element, which is the first of equal ones in row-major order, to
/// places[i * channels + c]; -1 for empty windows.
void pool_max_indexed(const PoolWindows& windows, const PoolIndices& indices, float* y,
                      std::int64_t* places);
/// Writes the sum over window i, divided by `taps`, to y[i * channels + c]. Sums go row by row;
/// `taps` may include padding.
void pool_average(const PoolWindows& windows, float* y, float taps);

/// Replaces y[i] with the larger of x[i] and y[i], NaN if either is NaN; adds x[i] to y[i]; for i <
/// n. Planar pools fold whole rows with them.
void take_larger(const float* x, float* y, std::size_t n);
void take_sum(const float* x, float* y, std::size_t n);

}  // namespace parallax
