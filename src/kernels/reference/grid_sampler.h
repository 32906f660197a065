// Elements that GridSample reads along each axis of an image, and their weights, for every kernel
// of it. Pure. An image of several axes is sampled by the product of the taps of each axis; kernels
// call taps() once per axis and place.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/kernel.h"
#include "ops/params/sampling.h"

namespace parallax {

/// An element along one axis and its weight. The weight of a pixel is the product over its axes.
/// Positions and weights are computed in f64 for every element type.
struct GridTap {
  std::int64_t index = -1;  ///< -1: outside the image, where elements are 0
  double weight = 0;
};
/// Taps of kCubic, which has the most.
inline constexpr int kMaxGridTaps = 4;
/// Entries from GridSampleParams::count() on keep index -1 and weight 0.
using GridTaps = std::array<GridTap, kMaxGridTaps>;

/// Attributes of a GridSample. Copied into the kernel when it is made; immutable.
struct GridSampler : GridSampleParams {
  /// Returns the taps at the normalised coordinate `at`, -1 and 1 being the ends of an axis of
  /// `size` elements. NaN lies outside; an axis without elements has taps of index -1 only. With
  /// align_corners the position is (at + 1) / 2 * (size - 1), else ((at + 1) * size - 1) / 2;
  /// kNearest rounds it, ties to even. Padding kBorder clamps each index, kReflection mirrors it at
  /// the centres of the outermost elements with align_corners, at their outer edges without, as
  /// often as necessary.
  GridTaps taps(double at, std::int64_t size) const;
};
/// Reads the attributes. REQUIRES: read_params() accepted them.
GridSampler grid_sampler(const Attributes& attributes);

/// Returns the weights of cubic convolution (Keys, 1981) with coefficient `a`, for the 4 elements
/// around a position that lies `fraction`, in [0, 1], behind the second of them. They add up to 1.
/// GridSample's coefficient is -0.75; that of Resize is its attribute cubic_coeff_a.
std::array<double, 4> cubic_weights(double fraction, double a);

}  // namespace parallax
