// Elements of an axis, and their weights, from which one position of a resized tensor is computed,
// for all modes of Resize. Pure. Kernels use resize_source.h instead if that covers the modes: it
// has at most two elements per axis.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "kernels/reference/resize_source.h"

namespace parallax {

/// An element of the original and its weight. Weights of different axes are multiplied. Taps of
/// weight 0 must not be multiplied: the element may be NaN or infinite.
struct ResizeTap {
  std::int64_t index = 0;  ///< in [0, size of the original)
  double weight = 0;
};

/// Inputs of Resize that are parameters; null if they are left out. Bytes may have any alignment.
/// Pointers to inputs 1, 2 and 3 of the node. Sizes and regions have an element for each axis that
/// the attribute `axes` names, in its order.
struct ResizeInputs {
  const std::byte* region = nullptr;  ///< starts of all axes, then ends
  DType region_type = DType::kF32;
  const std::byte* scales = nullptr;  ///< f32
  const std::byte* sizes = nullptr;   ///< i64
};

/// Scale and crop region of one axis. `start` and `end` are 0 and 1 unless coordinates are
/// tf_crop_and_resize.
struct ResizeSpan {
  ResizeScale scale;
  double start = 0, end = 1;  ///< crop region (tf_crop_and_resize), 0 and 1 being the image's ends
};
/// Returns the scale and region of an axis. Scales that are given win over sizes, except with
/// keep_aspect_ratio_policy: then all named axes get the smallest (not_larger) or greatest
/// (not_smaller) of their ratios. Errors: kInvalidInput if a scale is not positive.
Result<ResizeSpan> resize_span(const ResizeShape& shape, int axis, const ResizeInputs& inputs);

/// Returns the number of taps that a table needs per position of an axis, whatever the scale. 1 for
/// kNearest, 2 for kLinear, 4 for kCubic; with antialias and a shrinking axis 2 * (in / out) + 2
/// times that, the quotient rounded down. Callers allocate tables by it.
std::int64_t resize_tap_count(const ResizeShape& shape, int axis);
/// Writes the resize_tap_count() taps of position `i`; the caller must skip those of weight 0.
/// Returns false if the crop region puts the position outside the image: it gets
/// extrapolation_value. Indices are clamped to the original; weights add up to 1 with
/// exclude_outside and when the filter is widened. REQUIRES: `taps` has resize_tap_count()
/// elements, i is in [0, shape.out[axis]). Errors: kInvalidInput if the scale needs more taps.
Result<bool> resize_taps(const ResizeShape& shape, int axis, std::int64_t i, const ResizeSpan& span,
                         std::span<ResizeTap> taps);

}  // namespace parallax
