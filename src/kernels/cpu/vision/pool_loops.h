// Pooling windows over NHWC images, for the instruction set of this machine. Thread-safe.
#pragma once

#include <cstddef>

namespace parallax {

/// A window of rows x columns pixels of `channels` f32 each; steps count elements.
struct PoolWindow {
  /// First pixel of the window that lies inside the image: callers leave out padding.
  const float* x = nullptr;
  /// From one row of the window to the next, and from one pixel to the next.
  std::ptrdiff_t row_step = 0, column_step = 0;
  std::size_t rows = 0, columns = 0;
};
/// Writes the largest element of channel c in the window to y[c], NaN if one is NaN. -inf for an
/// empty window. y must not overlap the image.
void pool_max(const PoolWindow& window, float* y, std::size_t channels);
/// Writes the sum over the window, divided by `count`, to y[c]. Sums go row by row; `count` may
/// include padding.
void pool_average(const PoolWindow& window, float* y, std::size_t channels, float count);

/// Replaces y[i] with the larger of x[i] and y[i], NaN if either is NaN; adds x[i] to y[i]; for i <
/// n. Planar pools fold whole rows with them.
void take_larger(const float* x, float* y, std::size_t n);
void take_sum(const float* x, float* y, std::size_t n);

}  // namespace parallax
