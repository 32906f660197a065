// Weighted sums of elements of a plane that lie anywhere, for the instruction set of this machine.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// Indices and weights of `taps` elements for each of `n` results; those of one tap are contiguous,
/// taps are `stride` apart. Elements of weight 0 count as 0, even NaN. Indices count elements of
/// the plane and must be inside it, also those of weight 0.
struct GatheredTaps {
  const std::int32_t* index = nullptr;
  const float* weight = nullptr;
  std::size_t taps = 0, stride = 0, n = 0;
};
/// Writes the sum of weight * plane[index] over the taps of i to y[i]. Sums go over taps in
/// ascending order. y has n elements and must not overlap the plane.
void gather_weighted(const float* plane, const GatheredTaps& taps, float* y);

}  // namespace parallax
