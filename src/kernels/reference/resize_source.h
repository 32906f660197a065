// Maps positions of a resized tensor to elements of the original, for every kernel of Resize.
// Positions are computed in single precision, as ONNX Runtime does. Stages: shapes and attributes
// are read when the kernel is made; scales, if they are inputs, when it runs. Functions are pure.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/reference/index_space.h"
#include "ops/params/resize.h"

namespace parallax {

/// Scale of an axis as the fraction above / below. A rounded quotient of two sizes would move
/// positions off the middle between two elements, which decides the nearest one.
struct ResizeScale {
  float above = 1;  ///< size of the result, or an element of `scales`
  float below = 1;  ///< size of the original, or 1
};

/// Source of one position of one axis: (1 - fraction) * x[low] + fraction * x[low + 1]. Index low +
/// 1 is read only if `fraction` is not 0, so it is always inside the original.
struct ResizeSource {
  std::int64_t low = 0;  ///< in [0, size of the original)
  float fraction = 0;    ///< in [0, 1); 0 at the last element and for kNearest
};

/// Shapes and attributes of a Resize. Plain values. Made when a kernel is made, and copied into it.
/// Axes are in the order of the tensors, channels last for NHWC.
struct ResizeShape {
  Dims in, out;
  Strides strides{};  ///< strides of the dense input
  ResizeMode mode{};
  ResizePolicy policy{};
  /// Whether shrinking widens the filter (never for kNearest), and whether elements outside the
  /// original have weight 0.
  bool antialias = false, exclude_outside = false;
  float cubic = -0.75F;     ///< cubic_coeff_a
  float extrapolation = 0;  ///< extrapolation_value
  ResizeCoordinates coordinates{};
  ResizeRounding rounding{};
  /// Index in scales or sizes per axis; -1: none. Axes that the attribute `axes` leaves out have
  /// none and keep their size.
  std::array<int, Dims::kMaxRank> entry{};

  bool linear() const { return mode == ResizeMode::kLinear; }
  /// Returns whether resize_source() and resize_scale() suffice; else resize_taps.h is needed. If
  /// true, an element of the result depends on at most two elements along each axis.
  bool is_plain() const {
    return mode != ResizeMode::kCubic && policy == ResizePolicy::kStretch && !antialias &&
           coordinates != ResizeCoordinates::kCrop;
  }
  /// Sum of the output's dimensions: entries of a table with one per position of each axis.
  std::int64_t table_size() const {
    std::int64_t size = 0;
    for (std::int64_t dim : out) size += dim;
    return size;
  }
};

/// Read the attributes. Those of `layout` NHWC number axes as NCHW does. The first reads the shapes
/// of input 0 and output 0 of the request, so the output's size must be known; the second serves
/// delegates and tables that have no request.
ResizeShape resize_shape(const KernelRequest& request);
ResizeShape resize_shape(const Attributes& attributes, const Dims& in, const Dims& out);

/// Returns whether input 2 (scales) is given and not empty; otherwise input 3 (sizes) applies.
bool resized_by_scales(const KernelRequest& request);

/// Returns the position on the original of element `i` of an axis resized from `in` to `out`
/// elements, in elements. `in` and `out` are the axis' sizes; align_corners and the PyTorch form
/// give 0 if `out` is 1. The result may lie outside the original. REQUIRES: `mode` is not kCrop.
float resize_coordinate(ResizeCoordinates mode, std::int64_t i, std::int64_t in, std::int64_t out,
                        ResizeScale scale);
/// Returns `x` as a whole number, rounded by `rounding`. An integer stays; kFloor and kCeil always
/// round in their direction, the kPrefer forms only at fractions of exactly 0.5.
float resize_rounded(ResizeRounding rounding, float x);

/// Returns the scale of an axis: its element of `scales`, the f32 bytes of input 2 at any
/// alignment, if `by_scales`; else the ratio of its sizes. Axes that are not resized have a scale
/// of 1.
ResizeScale resize_scale(const ResizeShape& shape, int axis, const std::byte* scales,
                         bool by_scales);

/// Returns the source of position `i` of an axis, clamped to the original. Positions before the
/// first element read it, those past the last one read that. An axis of equal sizes and scale 1 is
/// copied, whatever the coordinates' mode. REQUIRES: shape.is_plain().
ResizeSource resize_source(const ResizeShape& shape, int axis, std::int64_t i, ResizeScale scale);

}  // namespace parallax
