// Weighted sums of elements of a plane that lie anywhere, for the instruction set of this machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// `taps` elements for each of `n` results; those of a tap lie side by side, tap after tap,
/// `stride` apart. What has weight 0 counts as 0 whatever it is.
struct GatheredTaps {
  const std::int32_t* index = nullptr;
  const float* weight = nullptr;
  std::size_t taps = 0, stride = 0, n = 0;
};
/// y[i] = the sum of weight * plane[index] over the taps of i.
void gather_weighted(const float* plane, const GatheredTaps& taps, float* y);

}  // namespace parallax
