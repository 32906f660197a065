// Pooling windows over NHWC images, for the instruction set of this machine.
#pragma once

#include <cstddef>

namespace parallax {

/// rows x columns pixels of `channels` f32 each; steps count elements.
struct PoolWindow {
  const float* x = nullptr;
  std::ptrdiff_t row_step = 0, column_step = 0;
  std::size_t rows = 0, columns = 0;
};
/// y[c] = the largest element of channel c in the window, NaN where there is one.
void pool_max(const PoolWindow& window, float* y, std::size_t channels);
/// y[c] = the sum over the window divided by `count`.
void pool_average(const PoolWindow& window, float* y, std::size_t channels, float count);

/// y[i] = the larger of x[i] and y[i], NaN where one is; y[i] += x[i]; for i < n.
void take_larger(const float* x, float* y, std::size_t n);
void take_sum(const float* x, float* y, std::size_t n);

}  // namespace parallax
