// Attributes of operators that read images at computed places: GridSample, RoiAlign, MaxRoiPool.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// Elements read along each axis: 2, 1 or 4.
enum class GridMode : std::uint8_t { kLinear, kNearest, kCubic };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<GridMode> = {"linear", "nearest",
                                                                       "cubic"};
/// Values outside the image are zeros, its border, or its mirror image.
enum class GridPadding : std::uint8_t { kZeros, kBorder, kReflection };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<GridPadding> = {"zeros", "border",
                                                                          "reflection"};

struct GridSampleParams {
  bool align_corners = false;  ///< -1 and 1 are centres of corner elements, not their outer edges
  GridMode mode = GridMode::kLinear;
  GridPadding padding = GridPadding::kZeros;

  template <class Visitor>
  void visit(Visitor& v) {
    v("align_corners", align_corners);
    v("mode", mode);
    v("padding_mode", padding);
  }

  /// The number of elements along an axis that are read.
  int count() const { return mode == GridMode::kNearest ? 1 : mode == GridMode::kLinear ? 2 : 4; }
};

struct MaxRoiPoolParams {
  std::vector<std::int64_t> pooled_shape;
  float spatial_scale = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    v("pooled_shape", pooled_shape);
    v("spatial_scale", spatial_scale);
  }
};

enum class RoiCoordinates : std::uint8_t { kHalfPixel, kOutputHalfPixel };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<RoiCoordinates> = {"half_pixel",
                                                                             "output_half_pixel"};
enum class RoiMode : std::uint8_t { kAverage, kMax };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<RoiMode> = {"avg", "max"};

struct RoiAlignParams {
  RoiCoordinates coordinates = RoiCoordinates::kHalfPixel;
  RoiMode mode = RoiMode::kAverage;
  std::int64_t output_height = 1, output_width = 1;
  std::int64_t sampling_ratio = 0;  ///< samples along each side of a cell; 0: as its size says
  float spatial_scale = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    v("coordinate_transformation_mode", coordinates);
    v("mode", mode);
    v("output_height", output_height);
    v("output_width", output_width);
    v("sampling_ratio", sampling_ratio);
    v("spatial_scale", spatial_scale);
  }
};

}  // namespace parallax
