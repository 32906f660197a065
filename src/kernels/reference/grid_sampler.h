// Elements that GridSample reads along each axis of an image, and their weights, for every kernel
// of it. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "kernels/kernel.h"

namespace parallax {

enum class GridMode : std::uint8_t { kNearest, kLinear, kCubic };
enum class GridPadding : std::uint8_t { kZeros, kBorder, kReflection };

struct GridTap {
  std::int64_t index = -1;  ///< -1: outside, where there are zeros
  double weight = 0;
};
inline constexpr int kMostGridTaps = 4;
using GridTaps = std::array<GridTap, kMostGridTaps>;

struct GridSampler {
  GridMode mode = GridMode::kLinear;
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;

  /// Taps along an axis.
  int count() const { return mode == GridMode::kNearest ? 1 : mode == GridMode::kLinear ? 2 : 4; }
  /// Those at `at`, which is -1 at one end of the axis of `size` elements and 1 at the other. What
  /// is no number lies outside.
  GridTaps taps(double at, std::int64_t size) const;
};
GridSampler grid_sampler(const Attributes& attributes);

/// The weights of the 4 elements around a place that lies `fraction` behind the second of them.
std::array<double, 4> cubic_weights(double fraction, double a);

}  // namespace parallax
