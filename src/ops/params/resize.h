// Attributes of Resize.
#pragma once

#include "ops/params/window.h"

namespace parallax {

/// The place in the input that element i of an axis is read at, s being the scale.
enum class ResizeCoordinates : std::uint8_t {
  kHalfPixel,           ///< (i + 0.5) / s - 0.5
  kHalfPixelSymmetric,  ///< half_pixel, centred if `out` is not exactly s * in
  kPytorchHalfPixel,    ///< half_pixel; 0 if out <= 1
  kAlignCorners,        ///< i * (in - 1) / (out - 1); 0 if out <= 1
  kAsymmetric,          ///< i / s
  kCrop,                ///< tf_crop_and_resize
};
template <>
inline constexpr std::array<std::string_view, 6> kChoices<ResizeCoordinates> = {
    "half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
    "align_corners", "asymmetric",           "tf_crop_and_resize"};

enum class ResizeMode : std::uint8_t { kNearest, kLinear, kCubic };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<ResizeMode> = {"nearest", "linear",
                                                                         "cubic"};

/// How sizes that do not keep the ratio of the axes are read.
enum class ResizePolicy : std::uint8_t { kStretch, kNotLarger, kNotSmaller };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<ResizePolicy> = {"stretch", "not_larger",
                                                                           "not_smaller"};

/// The element that kNearest takes; the first two differ at halves.
enum class ResizeRounding : std::uint8_t { kPreferFloor, kPreferCeil, kFloor, kCeil };
template <>
inline constexpr std::array<std::string_view, 4> kChoices<ResizeRounding> = {
    "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

struct ResizeParams : LayoutParams {
  bool antialias = false, exclude_outside = false;
  std::vector<std::int64_t> axes;  ///< that scales and sizes are of; empty: all
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  float cubic_coefficient = -0.75F, extrapolation_value = 0;
  ResizePolicy policy = ResizePolicy::kStretch;
  ResizeMode mode = ResizeMode::kNearest;
  ResizeRounding rounding = ResizeRounding::kPreferFloor;

  template <class Visitor>
  void visit(Visitor& v) {
    v("antialias", antialias);
    v("axes", axes);
    v("coordinate_transformation_mode", coordinates);
    v("cubic_coeff_a", cubic_coefficient);
    v("exclude_outside", exclude_outside);
    v("extrapolation_value", extrapolation_value);
    v("keep_aspect_ratio_policy", policy);
    v("mode", mode);
    v("nearest_mode", rounding);
    LayoutParams::visit(v);
  }

  /// Whether elements are copied from their own axes alone.
  bool copies() const { return mode == ResizeMode::kNearest && policy == ResizePolicy::kStretch; }
  bool rounds_to_nearest() const {
    return rounding == ResizeRounding::kPreferFloor || rounding == ResizeRounding::kPreferCeil;
  }
};

}  // namespace parallax
