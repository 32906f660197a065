// Elements that GridSample reads along each axis of an image, and their weights, for every kernel
// of it. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "kernels/kernel.h"

namespace parallax {

/// Attribute `mode`: 1, 2 or 4 elements per axis.
enum class GridMode : std::uint8_t { kNearest, kLinear, kCubic };
/// Attribute `padding_mode`: values outside the image are zeros, its border, or its mirror image.
enum class GridPadding : std::uint8_t { kZeros, kBorder, kReflection };

/// An element along one axis and its weight. The weight of a pixel is the product over its axes.
struct GridTap {
  std::int64_t index = -1;  ///< -1: outside the image, where elements are 0
  double weight = 0;
};
/// Taps of kCubic, which has the most.
inline constexpr int kMaxGridTaps = 4;
using GridTaps = std::array<GridTap, kMaxGridTaps>;

/// Attributes of a GridSample.
struct GridSampler {
  GridMode mode = GridMode::kLinear;
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;  ///< -1 and 1 are centres of corner elements, not their outer edges

  /// Number of taps along an axis that are used.
  int count() const { return mode == GridMode::kNearest ? 1 : mode == GridMode::kLinear ? 2 : 4; }
  /// Returns the taps at the normalised coordinate `at`, -1 and 1 being the ends of an axis of
  /// `size` elements. NaN lies outside; an axis without elements has taps of index -1 only.
  GridTaps taps(double at, std::int64_t size) const;
};
/// Reads the attributes, opset 20's names of modes; unknown ones mean the default.
GridSampler grid_sampler(const Attributes& attributes);

/// Returns the weights of cubic convolution (Keys, 1981) with coefficient `a`, for the 4 elements
/// around a position that lies `fraction`, in [0, 1], behind the second of them. They add up to 1.
std::array<double, 4> cubic_weights(double fraction, double a);

}  // namespace parallax
