// Attributes of Resize (since operator set 10), to which loaders also turn Upsample and TFLite's
// resizing operators. Inputs: the image, a region [starts.., ends..] in parts of the image, scales
// (f32), sizes (i64); exactly one of scales and sizes is given, otherwise kInvalidModel. Axes are
// numbered as in NCHW also if the images are NHWC.
#pragma once

#include "ops/params/window.h"

namespace parallax {

/// The place in the input that element i of an axis is read at, s being the scale, `in` and `out`
/// the sizes of the axis. Computed in f32 (kernels/reference/resize_source.cc).
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

/// How an element is made of those around its place: kNearest copies one, kLinear has 2 along each
/// axis that changes, kCubic 4, by cubic convolution. More of them if `antialias` is set.
enum class ResizeMode : std::uint8_t { kNearest, kLinear, kCubic };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<ResizeMode> = {"nearest", "linear",
                                                                         "cubic"};

/// How sizes that do not keep the ratio of the axes are read: kStretch as they are; kNotLarger
/// scales all axes alike, by the least of their scales, kNotSmaller by the greatest, and rounds
/// sizes to the nearest.
enum class ResizePolicy : std::uint8_t { kStretch, kNotLarger, kNotSmaller };
template <>
inline constexpr std::array<std::string_view, 3> kChoices<ResizePolicy> = {"stretch", "not_larger",
                                                                           "not_smaller"};

/// The element that kNearest chooses; the first two differ at halves only, where they choose the
/// lower or the upper.
enum class ResizeRounding : std::uint8_t { kPreferFloor, kPreferCeil, kFloor, kCeil };
template <>
inline constexpr std::array<std::string_view, 4> kChoices<ResizeRounding> = {
    "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

/// The attributes of a node.
struct ResizeParams : LayoutParams {
  /// ONNX `antialias`: a filter is widened by as much as an axis shrinks, so that all elements
  /// count; kNearest does not read it. ONNX `exclude_outside`: weights of elements outside the
  /// image are 0 and the others add up to 1; otherwise the edge stands for those outside.
  bool antialias = false, exclude_outside = false;
  /// ONNX `axes` that scales, sizes and region are of, in that order; negative ones count from the
  /// last. Empty: all. Out of range or repeated: kInvalidModel.
  std::vector<std::int64_t> axes;
  /// ONNX `coordinate_transformation_mode`. kCrop needs the region, input 1.
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  /// ONNX `cubic_coeff_a`, of Keys' cubic convolution (1981), read by kCubic. ONNX
  /// `extrapolation_value`: the result for places outside the image, which kCrop alone has.
  float cubic_coefficient = -0.75F, extrapolation_value = 0;
  /// ONNX `keep_aspect_ratio_policy`, read if sizes are given.
  ResizePolicy policy = ResizePolicy::kStretch;
  /// ONNX `mode`. All but kNearest need numbers (kNumericTypes).
  ResizeMode mode = ResizeMode::kNearest;
  /// ONNX `nearest_mode`, read by kNearest.
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

  /// Whether elements are copied, each axis for itself and with its own scale.
  bool copies() const { return mode == ResizeMode::kNearest && policy == ResizePolicy::kStretch; }
  /// Whether places are rounded to the nearest element rather than always down or always up.
  bool rounds_to_nearest() const {
    return rounding == ResizeRounding::kPreferFloor || rounding == ResizeRounding::kPreferCeil;
  }
};

}  // namespace parallax
