// Maps positions of a resized tensor to elements of the original, for every kernel of Resize.
// Positions are computed in single precision, as ONNX Runtime does.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/reference/index_space.h"

namespace parallax {

enum class ResizeCoordinates {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kCrop,  ///< tf_crop_and_resize
};
enum class ResizeMode { kNearest, kLinear, kCubic };
/// Attribute keep_aspect_ratio_policy: uses sizes as they are, or scales all axes by the least or
/// greatest ratio.
enum class ResizePolicy { kStretch, kNotLarger, kNotSmaller };
enum class ResizeRounding { kPreferFloor, kPreferCeil, kFloor, kCeil };

/// How much an axis grows, as a fraction: the quotient of two sizes, rounded, would move a position
/// off the middle between two elements, where it decides which one is nearest.
struct ResizeScale {
  float above = 1;
  float below = 1;
};

/// Source of one position of one axis: (1 - fraction) * x[low] + fraction * x[low + 1].
struct ResizeSource {
  std::int64_t low = 0;
  float fraction = 0;
};

struct ResizeShape {
  Dims in, out;
  Strides strides{};
  ResizeMode mode{};
  ResizePolicy policy{};
  bool antialias = false, exclude_outside = false;
  float cubic = -0.75F;     ///< cubic_coeff_a
  float extrapolation = 0;  ///< extrapolation_value
  ResizeCoordinates coordinates{};
  ResizeRounding rounding{};
  std::array<int, Dims::kMaxRank> entry{};  ///< which element of scales or sizes an axis has, or -1

  bool linear() const { return mode == ResizeMode::kLinear; }
  /// Whether resize_source() and resize_scale() tell all: the rest is resize_taps.h's.
  bool is_plain() const {
    return mode != ResizeMode::kCubic && policy == ResizePolicy::kStretch && !antialias &&
           coordinates != ResizeCoordinates::kCrop;
  }
  /// Positions of all axes together.
  std::int64_t table_size() const {
    std::int64_t size = 0;
    for (std::int64_t dim : out) size += dim;
    return size;
  }
};

ResizeShape resize_shape(const KernelRequest& request);
ResizeShape resize_shape(const Attributes& attributes, const Dims& in, const Dims& out);

/// Whether input 2 (scales) rules; otherwise the sizes do.
bool resized_by_scales(const KernelRequest& request);

/// Returns the position on the original of element `i` of an axis resized from `in` to `out`
/// elements, in elements. REQUIRES: `mode` is not kCrop.
float resize_coordinate(ResizeCoordinates mode, std::int64_t i, std::int64_t in, std::int64_t out,
                        ResizeScale scale);
/// That as the whole number that `rounding` makes of it.
float resize_rounded(ResizeRounding rounding, float x);

/// Scale of an axis; `scales`: the bytes of input 2, at any alignment, read where `by_scales`.
ResizeScale resize_scale(const ResizeShape& shape, int axis, const std::byte* scales,
                         bool by_scales);

/// REQUIRES: shape.is_plain().
ResizeSource resize_source(const ResizeShape& shape, int axis, std::int64_t i, ResizeScale scale);

}  // namespace parallax
