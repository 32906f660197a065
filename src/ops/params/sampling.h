// Attributes of operators that read images at computed places: GridSample, RoiAlign, MaxRoiPool.
// Images are NCHW. DeformConv, which does so too, has its attributes in ops/params/window.h.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// Elements read along each axis: 2, 1 or 4. kNearest rounds halves to even; kCubic is cubic
/// convolution with coefficient -0.75.
enum class GridMode : std::uint8_t { kLinear, kNearest, kCubic };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<GridMode> = {"linear", "nearest",
                                                                       "cubic"};
/// Values outside the image are zeros, its border, or its mirror image.
enum class GridPadding : std::uint8_t { kZeros, kBorder, kReflection };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<GridPadding> = {"zeros", "border",
                                                                          "reflection"};

/// GridSample (since operator set 16): an image [batch, channels, spatial..] of 1 to 3 spatial axes
/// (more: kUnsupported) and a grid [batch, places.., axes] of coordinates, where -1 and 1 are the
/// ends of an axis and the last axis comes first.
struct GridSampleParams {
  /// ONNX `align_corners`: -1 and 1 are centres of corner elements, not their outer edges.
  bool align_corners = false;
  /// ONNX `mode`. Another string is refused with kUnsupported.
  GridMode mode = GridMode::kLinear;
  /// ONNX `padding_mode`. kReflection mirrors at the ends that `align_corners` means.
  GridPadding padding = GridPadding::kZeros;

  template <class Visitor>
  void visit(Visitor& v) {
    v("align_corners", align_corners);
    v("mode", mode);
    v("padding_mode", padding);
  }

  /// Returns the number of elements along an axis that are read.
  int count() const { return mode == GridMode::kNearest ? 1 : mode == GridMode::kLinear ? 2 : 4; }
};

/// MaxRoiPool: regions [count, 5] of (image, x1, y1, x2, y2) give the greatest element of each
/// cell, 0 for an empty one. Corners are rounded to elements and belong to the region.
struct MaxRoiPoolParams {
  /// ONNX `pooled_shape`: rows and columns of cells, each in [1, 2^20]; otherwise kInvalidModel.
  std::vector<std::int64_t> pooled_shape;
  /// ONNX `spatial_scale`: factor from a region's coordinates to elements of the image.
  float spatial_scale = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    v("pooled_shape", pooled_shape);
    v("spatial_scale", spatial_scale);
  }
};

/// kHalfPixel shifts regions by half an element, so that coordinates are edges of elements;
/// kOutputHalfPixel, the only one before operator set 16, does not, and makes regions at least one
/// element wide and high.
enum class RoiCoordinates : std::uint8_t { kHalfPixel, kOutputHalfPixel };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<RoiCoordinates> = {"half_pixel",
                                                                             "output_half_pixel"};
/// kAverage is the mean of the samples of a cell, each interpolated between four elements; kMax the
/// greatest product of an element and its weight among these.
enum class RoiMode : std::uint8_t { kAverage, kMax };
template <>
inline constexpr std::array<std::string_view, 2> kChoices<RoiMode> = {"avg", "max"};

/// RoiAlign (since operator set 10): regions [count, 4] of (x1, y1, x2, y2) in the image whose
/// index input 2 (i64) has. An index of no image is kOutOfRange during the run.
struct RoiAlignParams {
  /// ONNX `coordinate_transformation_mode`.
  RoiCoordinates coordinates = RoiCoordinates::kHalfPixel;
  /// ONNX `mode`.
  RoiMode mode = RoiMode::kAverage;
  /// ONNX `output_height` and `output_width`: rows and columns of cells, each in [1, 2^20].
  std::int64_t output_height = 1, output_width = 1;
  /// ONNX `sampling_ratio`: samples along each side of a cell, in [0, 1024]; 0: as many as the cell
  /// has elements, rounded up.
  std::int64_t sampling_ratio = 0;
  /// ONNX `spatial_scale`, as that of MaxRoiPool.
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
