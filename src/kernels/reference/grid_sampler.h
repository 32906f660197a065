// Elements that GridSample reads along each axis of an image, and their weights, for every kernel
// of it. Pure.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/kernel.h"
#include "ops/params/sampling.h"

namespace parallax {

/// An element along one axis and its weight. The weight of a pixel is the product over its axes.
struct GridTap {
  std::int64_t index = -1;  ///< -1: outside the image, where elements are 0
  double weight = 0;
};
/// Taps of kCubic, which has the most.
inline constexpr int kMaxGridTaps = 4;
using GridTaps = std::array<GridTap, kMaxGridTaps>;

/// Attributes of a GridSample.
struct GridSampler : GridSampleParams {
  /// Returns the taps at the normalised coordinate `at`, -1 and 1 being the ends of an axis of
  /// `size` elements. NaN lies outside; an axis without elements has taps of index -1 only.
  GridTaps taps(double at, std::int64_t size) const;
};
/// Reads the attributes.
GridSampler grid_sampler(const Attributes& attributes);

/// Returns the weights of cubic convolution (Keys, 1981) with coefficient `a`, for the 4 elements
/// around a position that lies `fraction`, in [0, 1], behind the second of them. They add up to 1.
std::array<double, 4> cubic_weights(double fraction, double a);

}  // namespace parallax
